"""The published schema: OpenAPI, with every problem that an operation may answer."""

from __future__ import annotations

from typing import Any, Final

from fastapi import FastAPI, Request
from fastapi.openapi.utils import get_openapi
from fastapi.responses import JSONResponse

from daemon.api import models
from daemon.api.door import Door
from daemon.api.problems import PROBLEM

_METHODS: Final = ("get", "post", "delete")
_MEANINGS: Final = {
    401: "No session, or one that has ended",
    403: "Not for this role or user",
    404: "There is none",
    408: "The body does not come",
    409: "Refused, and why",
    413: "The body is too long",
    422: "Malformed",
    423: "The session is locked",
    429: "Too many wrong PINs",
    500: "The answer cannot be given",
    503: "Held, stopping, no room, or no usable staff file",
}
_EVERY: Final = (401, 403, 422, 423, 500, 503)
_WITH_BODY: Final = (408, 413)


def add(app: FastAPI, door: Door) -> None:
    """Call it last: it knows the routes that are there."""
    app.router.routes[:] = [
        route for route in app.router.routes if getattr(route, "path", "") != "/openapi.json"
    ]

    @app.get("/schema", responses=models.answers(models.Anything))
    @app.get("/openapi.json", include_in_schema=False)
    async def schema(request: Request) -> JSONResponse:
        """This schema."""
        door.known(request)
        return JSONResponse(published(app))


def published(app: FastAPI) -> dict[str, Any]:
    """The schema of an app, made once. Its version is the one of the API's form, not of the program."""
    if app.openapi_schema is None:
        made = get_openapi(title="feltd", version="1", summary="The API of a table", routes=app.routes)
        for path in made["paths"].values():
            for method in _METHODS:
                if method in path:
                    _document(path[method])
        schemas = made["components"]["schemas"]
        for unused in ("HTTPValidationError", "ValidationError"):
            schemas.pop(unused, None)
        schemas["Problem"] = models.Problem.model_json_schema()
        made["components"]["securitySchemes"] = {"session": {"type": "http", "scheme": "bearer"}}
        made["security"] = [{}, {"session": []}]
        app.openapi_schema = made
    return app.openapi_schema


def _document(operation: dict[str, Any]) -> None:
    also = (*_EVERY, *(_WITH_BODY if "requestBody" in operation else ()))
    answers: dict[str, Any] = operation["responses"]
    codes = {*map(str, also), *(code for code in answers if code >= "400")}
    for code in sorted(codes):
        answers[code] = {
            "description": _MEANINGS[int(code)],
            "content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}}},
        }
