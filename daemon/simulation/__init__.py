"""The parts of ``feltd simulate``: the bench, which knows no game, and the people at its tables."""
