"""Raises, clears and stores alarms about conditions of the gateway that need attention.

`conditions` derives the conditions that are true now from the reports of the gateway's processes.
Each condition has an identifier, which is listed in `kinds`. `table` raises, clears and
acknowledges alarms. An alarm is cleared only some time after its condition has ended. A condition
that repeatedly ends and returns therefore causes only one alarm. `store` writes the alarms to disk.
`watch` calls the other modules every few seconds. Only `store` and `watch` do I/O.
"""
