"""What the API needs of the service and its journal."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import Annotated, Final, Protocol

from fastapi import Path, Query

from daemon.engine import Engine
from daemon.games.desk import Act
from daemon.house import House
from daemon.journal import Outgoing
from daemon.linked.desk import LinkDesk
from daemon.metrics import Latency
from daemon.records import Plain
from daemon.table import Noticed

WHOLE: Final = 10**18  # whole numbers stay within the 64 bits of the journal
LONGEST_WAIT: Final = 60.0  # seconds

After = Annotated[int | None, Query(ge=0, lt=WHOLE)]
Wait = Annotated[float, Query(ge=0, le=LONGEST_WAIT)]
Number = Annotated[int, Path(ge=1, lt=WHOLE)]


class History(Protocol):
    """What is committed (daemon.journal.SqliteJournal)."""

    @property
    def path(self) -> FilePath: ...

    def rounds(self, last: int) -> list[Plain]: ...

    def round(self, round_id: int) -> Plain | None: ...

    def records(self, after: int, limit: int) -> list[tuple[int, Plain]]: ...

    def rounds_over(self, first: int, last: int) -> list[tuple[int, int, int]]: ...

    def outcomes(self, after: int) -> list[tuple[str, int, int]]: ...

    def outbox(self, after: int, limit: int) -> list[Outgoing]: ...


class Service(Protocol):
    """The running table (daemon.service.Service)."""

    @property
    def engine(self) -> Engine: ...

    @property
    def journal(self) -> History: ...

    @property
    def house(self) -> House: ...

    @property
    def link(self) -> LinkDesk: ...

    @property
    def latency(self) -> Latency: ...

    @property
    def stopping(self) -> bool: ...

    async def act_soon(self, act: Act) -> Plain | None: ...

    def notice(self, noticed: Noticed) -> None: ...

    def view(self) -> Plain: ...

    async def changed(self, after: int, wait: float) -> None: ...
