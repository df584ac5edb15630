"""Five-card stud, portaria 104/85/M."""

from daemon.games.five_card.game import FiveCard
from daemon.games.five_card.rules import RULES_ID, FiveCardRules

__all__ = ["RULES_ID", "FiveCard", "FiveCardRules"]
