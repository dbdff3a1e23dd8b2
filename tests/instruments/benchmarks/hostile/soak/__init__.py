"""`make soak`: every attack at the same time, beside honest clients, in turn with calm."""
