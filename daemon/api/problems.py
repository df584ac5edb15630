"""Problem documents (RFC 9457): what went wrong, under which clause, and what to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

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


# --- what a request should have been -----------------------------------------------------------

PRINTABLE: Final = r"^[^\x00-\x1f\x7f-\x9f]*$"  # no control characters: people read it at their terminals
_MOST_FAULTS: Final = 8
# Where several forms are allowed, pydantic names the one that it tried as a part of the place.
_FORMS: Final = ("constrained-str", "constrained-int", "Credentials", "[key]")
_ANOTHER_FORM: Final[Mapping[str, str]] = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "list_type": "a list",
    "dict_type": "an object",
    "model_type": "an object",
    "model_attributes_type": "an object",
}
_ALLOWED: Final[Mapping[str, str]] = {
    "missing": "is missing",
    "extra_forbidden": "is no field of this request",
    "string_too_long": "must have at most {max_length} characters",
    "string_too_short": "must have at least {min_length} characters",
    "string_pattern_mismatch": "must be of the form {pattern}",
    "too_long": "must have at most {max_length} entries",
    "too_short": "must have at least {min_length} entries",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be {ge} or more",
    "less_than": "must be less than {lt}",
    "less_than_equal": "must be {le} or less",
    "json_invalid": "is no JSON: {error}",
}


def _faults_of(errors: Sequence[Mapping[str, Any]]) -> str:
    """What is wrong, where, and what is allowed, without repeating what was sent."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for error in errors:
        found.setdefault(_place(error["loc"]), []).append(error)
    told = [
        f"{place}: {_allowed(those)}"
        for place, those in found.items()
        if not (_is_another_form(those) and any(other.startswith(f"{place}.") for other in found))
    ]
    return "; ".join(told[:_MOST_FAULTS])


def _place(parts: Sequence[object]) -> str:
    """``args.text``; of what is not in the body also where it is, and ``body`` for all of it."""
    if parts[0] == "body" and (len(parts) == 1 or isinstance(parts[1], int)):
        return "body"  # no JSON: the number is that of a character
    first = 1 if parts[0] == "body" else 0
    names = [str(part)[:32] for at, part in enumerate(parts) if at < 2 or part not in _FORMS]
    return ".".join(names[first:])


def _is_another_form(errors: Sequence[Mapping[str, Any]]) -> bool:
    return all(error["type"] in _ANOTHER_FORM for error in errors)


def _allowed(errors: Sequence[Mapping[str, Any]]) -> str:
    """Of several forms the one that was meant; when it is none of them, all that would do."""
    if _is_another_form(errors):
        return f"must be {' or '.join(dict.fromkeys(_ANOTHER_FORM[error['type']] for error in errors))}"
    meant = next(error for error in errors if error["type"] not in _ANOTHER_FORM)
    words = _ALLOWED.get(meant["type"])
    if meant.get("ctx", {}).get("pattern") == PRINTABLE:
        words = "must be one line without control characters"
    if words is None:
        return str(meant["msg"]).replace("Input should be", "must be")
    of_name = "the name " if meant["loc"][-1] == "[key]" else ""
    return of_name + words.format(**meant.get("ctx", {}))
