"""What surrounds the core: sockets, the clock, batches and their commits, the control socket.

Everything with a side effect happens here; everything that is decided is decided in the core.
"""
