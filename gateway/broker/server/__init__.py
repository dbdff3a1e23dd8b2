"""Everything around the broker core: sockets, control sockets, clocks and commits to disk.

All side effects happen in this package. All protocol decisions are made in the core.
"""
