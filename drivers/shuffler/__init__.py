"""Drivers and simulators of automatic shuffling machines."""
