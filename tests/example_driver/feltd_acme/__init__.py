"""An example of a driver package for feltd: the Acme card shoe, which does not exist."""
