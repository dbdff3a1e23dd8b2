"""The environment of the core: sockets, clock, batches and their commits, control sockets.

All side effects happen here. All decisions are made in the core.
"""
