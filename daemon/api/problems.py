"""Problem documents (RFC 9457): what went wrong, under which clause, and what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from daemon.journal import JournalError

PROBLEM: Final = "application/problem+json"
_TITLES: Final = {408: "Too slow", 413: "Too long"}


class Problem(Exception):
    """Answers the request with a problem document. ``more``: clause, todo, act, seq, state."""

    def __init__(
        self,
        status: int,
        title: str,
        detail: str,
        headers: Mapping[str, str] | None = None,
        **more: object,
    ) -> None:
        super().__init__(detail)
        self.status, self.title, self.detail = status, title, detail
        self.headers, self.more = headers, more

    def response(self) -> JSONResponse:
        content = {"type": "about:blank", "title": self.title, "status": self.status, "detail": self.detail}
        return JSONResponse({**content, **self.more}, self.status, self.headers, PROBLEM)


def add(app: FastAPI) -> None:
    """Every mistake is answered in the same form."""

    @app.exception_handler(Problem)
    async def problem(request: Request, error: Problem) -> JSONResponse:
        return error.response()

    @app.exception_handler(RequestValidationError)
    async def malformed(request: Request, error: RequestValidationError) -> JSONResponse:
        return Problem(422, "Malformed request", _faults_of(error.errors())).response()

    @app.exception_handler(HTTPException)
    async def not_served(request: Request, error: HTTPException) -> JSONResponse:
        if error.status_code == 400:
            return Problem(422, "Malformed request", error.detail).response()
        if error.status_code in _TITLES:
            return Problem(
                error.status_code, _TITLES[error.status_code], error.detail, error.headers
            ).response()
        detail = f"{request.method} is not served here: {error.detail}"
        return Problem(error.status_code, "Not served", detail, error.headers).response()

    @app.exception_handler(JournalError)
    async def unreadable(request: Request, error: JournalError) -> JSONResponse:
        todo = "put the file back from a verified copy; the table goes on"
        return Problem(503, "Not readable", str(error), todo=todo).response()

    @app.exception_handler(Exception)
    async def broken(request: Request, error: Exception) -> JSONResponse:
        # What the exception says stays here: it may quote what must not be seen.
        return Problem(500, "Broken", "this question cannot be answered; the table goes on").response()


def _faults_of(errors: Sequence[Mapping[str, object]]) -> str:
    """What is wrong and where, without repeating what was sent."""
    told = []
    for error in errors:
        place = error["loc"]
        assert isinstance(place, tuple)
        told.append(f"{'.'.join(str(part)[:32] for part in place)}: {error['msg']}")
    return "; ".join(told[:8])
