"""Removes files when disk space runs short.

`budget` selects the files without any I/O, based on the existing files and the free space.
`inventory` lists and removes files. The broker calls both once a second
(`gateway/broker/server/housekeeping.py`), because it must free space even if no other process runs.
Database tables, readings that wait for delivery, and acknowledged messages that have not been
delivered are not in the inventory, so they can never be removed.
"""
