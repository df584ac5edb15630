"""The order of an Angel Eye's telegrams: which one is next, which are missing, which are repeats.

Every telegram gets a *number* that counts up for ever; its SEQ is the number's place in the alphabet.
A gap of a whole cycle leaves no trace in SEQ: the count of the stub finds it (CS-07).
"""

from __future__ import annotations

from drivers.shoe.angel_eye_frames import Telegram


class Order:
    """Puts telegrams in order. ``last`` is the number of the last one in order, 0 where none is known.

    Those that follow a gap wait, for less than a cycle: after that a SEQ could mean two numbers.
    """

    def __init__(self, alphabet: str, last: int) -> None:
        self._alphabet = alphabet
        self.last = last
        self._top = last  # the greatest number that was seen
        self._held: dict[int, Telegram | None] = {}  # behind a gap; None: its place is taken by nothing
        self._recent: dict[str, Telegram] = {}  # by SEQ: what was seen in the last cycle

    @property
    def missing(self) -> int:
        """How many telegrams are missing."""
        return self._top - self.last - len(self._held)

    @property
    def full(self) -> bool:
        """A cycle has gone by since the gap: it cannot be filled any more."""
        return self._top - self.last >= len(self._alphabet)

    def knows(self, seq: str) -> bool:
        """Whether a SEQ is of the alphabet."""
        return seq in self._alphabet

    def take(self, telegram: Telegram) -> bool:
        """Give a telegram its place; False for a repeat of one that has its place already.

        ``telegram.seq`` is one that :meth:`knows`.
        """
        if telegram.kind == "R":
            return self._retransmission(telegram)
        number = self._next_with(telegram.seq)
        if number != self._top + 1 and self._recent.get(telegram.seq) == telegram:
            return False
        self._put(telegram, number)
        return True

    def released(self) -> list[tuple[int, Telegram]]:
        """The telegrams that are in order now, with their numbers."""
        out: list[tuple[int, Telegram]] = []
        while self.last + 1 in self._held:
            self.last += 1
            telegram = self._held.pop(self.last)
            if telegram is not None:
                out.append((self.last, telegram))
        return out

    def give_up(self) -> list[tuple[int, Telegram]]:
        """What is missing will not come: everything that waits, in its order."""
        out = [(number, each) for number, each in sorted(self._held.items()) if each is not None]
        self._held.clear()
        self.last = self._top
        return out

    def _retransmission(self, telegram: Telegram) -> bool:
        """It may carry the SEQ of the card that it repeats, or the next one. It never replaces a card,
        and makes no gap: it fills one, or is itself the card that was not heard."""
        known = any(each.is_card and each.card == telegram.card for each in self._recent.values())
        missing = self._missing_with(telegram.seq)
        if missing is not None and not known:
            self._put(telegram, missing)
            return True
        number = self._next_with(telegram.seq)
        if self._top and number != self._top + 1:
            return False
        fills = self.last + 1 if self.missing else number
        self._put(telegram, number)
        self._held[number] = None
        if not known:
            self._held[fills] = telegram
        return not known

    def _put(self, telegram: Telegram, number: int) -> None:
        if not self._top:
            self.last = number - 1  # the first telegram that was ever heard
        self._top = max(self._top, number)
        self._held[number] = telegram
        self._recent[telegram.seq] = telegram

    def _missing_with(self, seq: str) -> int | None:
        """The missing number with this SEQ."""
        for number in range(self.last + 1, self._top):
            if number not in self._held and self._seq_of(number) == seq:
                return number
        return None

    def _seq_of(self, number: int) -> str:
        return self._alphabet[(number - 1) % len(self._alphabet)]

    def _next_with(self, seq: str) -> int:
        """The first number with this SEQ that was not seen yet."""
        return self._top + 1 + (self._alphabet.index(seq) - self._top) % len(self._alphabet)
