"""The table controller: it listens to the devices of a poker table and keeps its regulation."""

__version__ = "0.1.0"
