"""`make soak`: all attacks together, alternating with calm windows, next to honest clients."""
