"""Alarms: conditions that need attention, when they began, and who has acknowledged them.

`conditions` derives the present conditions from the reports of the processes. Each condition has an
identifier from `kinds`. `table` stores the alarms: raised, cleared and acknowledged, with
hysteresis. `store` writes the alarms to disk, and `watch` runs all of this every few seconds. All
modules except `store` and `watch` are pure.
"""
