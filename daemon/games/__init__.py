"""The regulations as pure state: no clock, no I/O, no logging. Every rule names its clause."""
