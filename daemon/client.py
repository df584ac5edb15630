"""A client of a table's API on its Unix socket, for the command line, the demo and tests."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, cast
from urllib.parse import quote

import httpx

TIMEOUT: Final = 5.0  # seconds; a held journal is answered within one
PATIENCE: Final = 300.0  # seconds; a whole day is read, and the play comes first
SILENCE: Final = 30.0  # seconds; a stream that lives says something every ten

Answer = dict[str, Any]


class NotRunning(Exception):
    """Nobody listens on the socket."""


class ApiError(Exception):
    """The API answered a question with a problem; the text is its detail."""


class Client:
    """Blocking; one connection that is opened when needed. Raises NotRunning from every call.

    ``token``: of a session; without one the daemon goes by the user who connects.
    """

    def __init__(self, socket_path: Path | str, timeout: float = TIMEOUT, token: str = "") -> None:
        self._path = str(socket_path)
        self._timeout = timeout
        self._http = httpx.Client(
            transport=httpx.HTTPTransport(uds=self._path),
            base_url="http://feltd",
            timeout=timeout,
            headers={"authorization": f"Bearer {token}"} if token else {},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def status(self, after: int | None = None, wait: float | None = None) -> Answer:
        """The table now; with ``after``, once a record later than it is committed or ``wait`` s are over."""
        asked = {"after": after, "wait": wait}
        return self._get("/status", {k: v for k, v in asked.items() if v is not None}, extra=wait or 0)

    def rounds(self, last: int = 20) -> list[Answer]:
        """The last rounds, newest first."""
        return cast(list[Answer], self._get("/rounds", {"last": last})["rounds"])

    def round(self, round_id: int) -> Answer:
        """One round. Raises ApiError when there is none with this id."""
        return self._get(f"/rounds/{round_id}")

    def jackpot(self) -> Answer:
        return self._get("/jackpot")

    def devices(self) -> dict[str, Answer]:
        return cast(dict[str, Answer], self._get("/devices")["devices"])

    def incidents(self) -> Answer:
        """``irregularities`` and ``faults``."""
        return self._get("/incidents")

    def acts(self) -> Answer:
        """Every act of this game under ``acts``, with ``may`` (the role) and ``now`` (the state)."""
        return self._get("/acts")

    def player(self) -> Answer:
        """What a player's screen may show (CS-12)."""
        return self._get("/player")

    def records(self, first: int = 1, last: int | None = None) -> Iterator[Answer]:
        """The records ``first`` to ``last``, redacted, in order. Raises ApiError for other roles."""
        at: int | None = first
        while at is not None:
            asked: dict[str, int | float] = {"from": at}
            page = self._get("/records", asked if last is None else asked | {"to": last})
            yield from page["records"]
            at = page["next"]

    def report(self, day: str, shift: str = "") -> Answer:
        """A gaming day (``YYYY-MM-DD``) or a shift. Raises ApiError for other roles, and for no such day."""
        return self._get("/report", {"day": day, "shift": shift} if shift else {"day": day}, extra=PATIENCE)

    def story(self, round_id: int | None = None) -> Answer:
        """A round told again, None: the newest one. Raises ApiError for other roles and for no such round."""
        return self._get(f"/rounds/{round_id or 'last'}/story", extra=PATIENCE)

    def events(self, after: int | None = None) -> Iterator[Answer]:
        """The records later than ``after`` as they are committed; without it, those from now on.

        Ends with the daemon, or when it lets us see no more. Raises NotRunning, ApiError.
        """
        query = {} if after is None else {"after": after}
        try:
            with self._http.stream("GET", "/events", params=query, timeout=SILENCE) as response:
                if response.status_code != httpx.codes.OK:
                    response.read()
                    raise ApiError(_read(response)["detail"])
                for line in response.iter_lines():
                    if line.startswith("data: "):
                        yield json.loads(line[6:])
        except httpx.TimeoutException:
            raise NotRunning(f"{self._path}: nothing heard for {SILENCE:g} s") from None
        except httpx.TransportError as error:
            raise NotRunning(f"{self._path}: nobody answers ({error})") from None

    def act(
        self,
        name: str,
        /,
        key: str | None = None,
        by: str = "",
        role: str = "",
        second: str | Mapping[str, str] = "",
        replaces: int = 0,
        **args: str | int,
    ) -> Answer:
        """Do an act. ``accepted`` says what became of it; a refusal is returned, not raised.

        ``seq`` is None when the act was not even recorded (malformed, or the journal was held). Raises
        ApiError for a name that cannot be asked for, and for what is not UTF-8.
        ``second``: the second person's name, or ``name`` and ``pin`` that prove it.
        """
        if not isinstance(second, str):
            second = dict(second)
        body = {"args": args, "by": by, "role": role, "second": second, "replaces": replaces}
        if key is not None:
            body["key"] = key
        response = self._ask("POST", _place(name), json=body)
        answer = _read(response)
        return answer if response.status_code == httpx.codes.OK else _refusal(name, answer)

    # --- for the link process of a linked pool ----------------------------------------------

    def outbox(self, after: int, limit: int, wait: float = 0) -> Answer:
        """The table's ``records`` for the authority later than ``after``, and its ``undecided`` claims."""
        return self._get("/link/outbox", {"after": after, "limit": limit, "wait": wait}, extra=wait)

    def seen(self, told: Mapping[str, Any]) -> None:
        """The pool as the authority has it. Raises ApiError when the table does not take it."""
        self._post("/link/seen", told)

    def decided(self, told: Mapping[str, Any]) -> None:
        """What the authority decided. Raises ApiError when the table does not take it."""
        self._post("/link/decided", told)

    def _post(self, path: str, body: Mapping[str, Any]) -> None:
        response = self._ask("POST", path, json=dict(body))
        if response.status_code != httpx.codes.OK:
            raise ApiError(_read(response)["detail"])

    def _get(
        self, path: str, query: Mapping[str, int | float | str] | None = None, extra: float = 0
    ) -> Answer:
        response = self._ask("GET", path, params=query, timeout=self._timeout + extra)
        answer = _read(response)
        if response.status_code != httpx.codes.OK:
            raise ApiError(answer["detail"])
        return answer

    def _ask(self, method: str, path: str, **request: Any) -> httpx.Response:
        try:
            return self._http.request(method, path, **request)
        except UnicodeEncodeError as error:
            raise ApiError(_not_utf8(error)) from None
        except httpx.TimeoutException:
            raise NotRunning(f"{self._path}: no answer within {self._timeout:g} s") from None
        except httpx.TransportError as error:
            raise NotRunning(f"{self._path}: nobody answers ({error})") from None


def _place(name: str) -> str:
    """Where an act is done. A name of dots would be another place."""
    if not name.strip("."):
        raise ApiError(f"{name!r} is no act: feltd acts tells those of this table")
    try:
        return f"/acts/{quote(name, safe='')}"
    except UnicodeEncodeError as error:
        raise ApiError(_not_utf8(error)) from None


def _not_utf8(error: UnicodeEncodeError) -> str:
    """The bytes of an argument that are no text: Python has them as single surrogates."""
    wrong = error.object[error.start : error.end].encode("utf-8", "surrogateescape")
    return f"{wrong!r} is not UTF-8, and nothing was asked: write it in UTF-8"


def _read(response: httpx.Response) -> Answer:
    """The object in an answer. Raises ApiError for what no API of ours says."""
    try:
        answer = response.json()
    except ValueError:  # no JSON, or no UTF-8
        answer = None
    if not isinstance(answer, dict) or (response.status_code != httpx.codes.OK and "detail" not in answer):
        asked = f"{response.request.method} {response.request.url.path}"
        raise ApiError(
            f"{asked}: status {response.status_code}, and no answer of feltd: is it a table's daemon "
            "that listens on this socket?"
        )
    return answer


def _refusal(name: str, answer: Answer) -> Answer:
    """A problem document in the form of an act's answer."""
    return {
        "accepted": False,
        "seq": answer.get("seq"),
        "act": name,
        "state": answer.get("state"),
        "status": answer["status"],
        "message": "",
        "notes": [],
        "refusal": {
            "reason": answer["detail"],
            "clause": answer.get("clause", ""),
            "todo": answer.get("todo", ""),
        },
    }
