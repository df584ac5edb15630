"""The rule set that a table plays by: the first start's, and then what a supervisor changes it to.

It is the journal's, whatever the configuration says later (CS-13, FC-06).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, Protocol, TypeVar

from daemon.games.desk import Act, Desk, Refused


class RuleSet(Protocol):
    """What is asked of the rules of any game."""

    def fingerprint(self) -> str:
        """Two tables with the same one play the same game."""

    def changes(self, other: Any) -> list[str]:
        """What differs in ``other``, as "key: before -> after"."""


Rules = TypeVar("Rules", bound=RuleSet)


class InForce(ABC, Generic[Rules]):
    """A chapter of every game."""

    name: str
    rules_clause: str  # under which rules are changed
    rules: Rules
    fingerprint: str
    rules_in_force: bool  # False until the first record of the journal tells them

    @staticmethod
    @abstractmethod
    def rules_from(text: str) -> Rules:
        """The rule set of its own text form. Raises ValueError, KeyError or TypeError."""

    def play_by(self, rules: Rules) -> None:
        """These rules are in force from now on."""
        self.rules, self.fingerprint, self.rules_in_force = rules, rules.fingerprint(), True

    def adopt(self, rules: str, desk: Desk) -> None:
        configured = self.rules_from(rules)
        if not self.rules_in_force:
            self.play_by(configured)
        if configured == self.rules:
            desk.unlatch("rules-differ")
            return
        text = "the configuration has another rule set: " + "; ".join(self.rules.changes(configured))
        desk.latch("rules-differ", text, "change-rules, or the former configuration")

    def may_change_rules(self, act: Act, desk: Desk) -> None:
        clause = self.rules_clause
        supervisor(act, clause)
        if act.args.get("problem"):
            raise Refused(act.text("problem"), clause, "correct the file; feltd check tells every error")
        try:
            rules = self.rules_from(act.text("rules"))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise Refused("that is no rule set of this game", clause, f"game = {self.name}") from error
        if rules == self.rules:
            raise Refused("this is the rule set in force", clause)

    def change_rules(self, act: Act, desk: Desk) -> None:
        """Between rounds only; before and after are in the record."""
        new, before = self.rules_from(act.text("rules")), self.fingerprint
        changes = "; ".join(self.rules.changes(new))
        self.play_by(new)
        desk.unlatch("rules-differ")
        desk.note(self.rules_clause, f"rule set {before[:16]} -> {self.fingerprint[:16]}: {changes}")


def supervisor(act: Act, clause: str) -> None:
    """Raises Refused for anybody else."""
    if act.role != "supervisor":
        raise Refused(f"{act.name} is a supervisor's act", clause, "role=supervisor")
