"""Drivers and simulators of card shoes."""
