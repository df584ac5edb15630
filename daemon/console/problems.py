"""RFC 9457 problem documents of the page's own server."""

from __future__ import annotations

from starlette.responses import JSONResponse


def problem(status: int, title: str, detail: str) -> JSONResponse:
    """A problem document, never kept by a browser."""
    content = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    return JSONResponse(
        content, status, headers={"cache-control": "no-store"}, media_type="application/problem+json"
    )
