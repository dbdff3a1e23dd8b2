"""Everything around the broker core: sockets, clocks, commits to disk and control sockets.

All side effects happen in this package. All protocol decisions are made in the core.
"""
