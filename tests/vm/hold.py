"""Runs in the guest: keeps a device open. ``hold.py DEVICE``."""

import os
import sys
import time

held = os.open(sys.argv[1], os.O_RDWR | os.O_NONBLOCK | os.O_NOCTTY)
time.sleep(86_400)
