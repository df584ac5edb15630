"""Drivers and simulators of LED jackpot signs."""
