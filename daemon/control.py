"""Where the service finds the API: :func:`create_app` of daemon.api."""

from __future__ import annotations

from daemon.api import create_app as create_app
