"""Money for people. Everywhere else it is a whole number of minor units."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

MAX_AMOUNT: Final = 10**12  # minor units, of any one amount: sums stay far below the 64 bits of the journal


@lru_cache(maxsize=64)
def money(amount: int, currency: str) -> str:
    """Minor units as a person reads them: ``$12,345.67``."""
    sign = "-" if amount < 0 else ""
    whole, cents = divmod(abs(amount), 100)
    return f"{sign}{currency}{whole:,}.{cents:02d}"
