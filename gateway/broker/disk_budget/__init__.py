"""Sharing of disk space: decides what is removed first when the disk runs short.

`budget` makes the decision and is pure: it takes the existing files and the free space, and returns
what to remove. `inventory` lists and removes files. The broker calls them once a second
(`gateway/broker/server/housekeeping.py`), since it must free space even if no other process runs.
Tables, outbox, and messages that are acknowledged but not delivered are not in the inventory, so
they can never be removed.
"""
