"""Caribbean Stud with its progressive jackpot, dispatch 61/2004."""

from daemon.games.caribbean.game import Caribbean
from daemon.games.caribbean.rules import RULES_ID, CaribbeanRules

__all__ = ["RULES_ID", "Caribbean", "CaribbeanRules"]
