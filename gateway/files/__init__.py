"""Files that outlive crashes and power cuts: locks, durable replacement, privacy, SQLite salvage.

Every process of a gateway keeps files in one data directory, and each of them needs the same few
operations with the same order of fsync and rename. They stand here once. A ground room: it imports
no other room, and knows no file of any of them by its format.
"""
