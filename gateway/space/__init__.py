"""How the disk's room is shared out: the one place that decides what goes first when it runs short.

`budget` decides and is pure: what lies there and how much is free in, what goes out. `inventory`
looks and removes. The broker asks once a second (`gateway/server/housekeeping.py`), because it has
to make room when no other process runs. Tables, outbox and what is acknowledged and not yet
delivered are in no inventory: nothing here can name them.
"""
