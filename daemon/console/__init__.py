"""The web console: a page for the people at a table, and the small server that brings it to them.

A process of its own. It knows the daemon's socket and nothing else: no device, no journal, no key.
"""
