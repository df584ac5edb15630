"""What people see of a demonstration at one moment, gathered where anybody may look."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from daemon.demo.staff import Json

NEWS_KEPT: Final = 8


@dataclass(slots=True)
class Scene:
    """``sign`` is what the sign itself shows, ``account`` the round as everybody may see it."""

    status: Json = field(default_factory=dict)
    account: Json = field(default_factory=dict)
    sign: Json = field(default_factory=dict)
    played: int = 0
    wanted: int = 0
    restarts: int = 0
    news: deque[str] = field(default_factory=lambda: deque(maxlen=NEWS_KEPT))
