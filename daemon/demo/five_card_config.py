"""The five-card table of a demonstration."""

from __future__ import annotations

from typing import Final

CONFIG: Final = """\
# The five-card table of feltd demo: a simulated shoe and sign. Amounts are in minor units.

[table]
id = "demo"
game = "five-card"
mode = "shoe"
journal = "journal.db"
key = "feltd.key"
socket = "feltd.sock"

[rules]
version = "104/85/M"
edition = "demo"
currency = "$"
ante = 2_000
buy_in_min = 200_000
top_up_below = 50_000
first_rake = 2_000
seats = 7
smallest_chip = 500

[devices.shoe]
protocol = "fdp"
link = "shoe.tty"
simulated = true

[devices.sign]
protocol = "alpha"
link = "sign.tty"
simulated = true

[staff]
file = "staff.json"
"""
