"""``python -m daemon``: the same program as ``feltd``."""

from daemon.cli import main

main()
