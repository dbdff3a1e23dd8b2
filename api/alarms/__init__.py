"""Alarms: conditions that need attention, since when, and who has acknowledged them.

`conditions` derives the present conditions from what the processes report, each with an identifier
of `kinds`. `table` keeps the alarms: raised, cleared, acknowledged, with hysteresis. `store` writes
them to disk, and `watch` runs it all every few seconds. Except for the last two all of it is pure.
"""
