"""``feltd demo``: a table that plays by itself, on simulated devices, through the same API as anyone else."""

from daemon.demo.options import DemoOptions
from daemon.demo.run import run_demo

__all__ = ["DemoOptions", "run_demo"]
