"""Files that survive crashes and power cuts: locks, durable replacement, privacy, SQLite salvage.

Every process of a gateway keeps files in the data directory, and needs the same few operations with
the right order of fsync and rename. This package implements them once. It imports no other package
of the gateway, and knows no file format of theirs.
"""
