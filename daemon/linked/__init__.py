"""The linked jackpot: many tables, one pool, on PostgreSQL (docs/linked.md)."""
