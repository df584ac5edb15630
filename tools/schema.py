"""Write docs/api/openapi.json as the daemon publishes it: ``python -m tools.schema``."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Final, cast

from daemon.api import create_app
from daemon.api.schema import published
from daemon.api.service import Service

FILE: Final = Path(__file__).parents[1] / "docs" / "api" / "openapi.json"


def schema_text() -> str:
    """The file's content. The schema does not depend on a table: none is needed to make it."""
    nothing = cast(Service, SimpleNamespace(engine=None, journal=None))
    return json.dumps(published(create_app(nothing, frozenset())), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    FILE.write_text(schema_text())
