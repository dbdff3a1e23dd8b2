"""What the session log proves: every message accounted for, or the exception named.

The room reads a gateway's log, and its database where there is one, and writes nothing. It knows
the laws of docs/audit.md by itself: of the core, whose work it judges, it uses what reads records
and rows, and none of the rules.
"""
