"""Audit of the session log: proves that every message is accounted for, or lists the problems.

The audit reads a gateway's log, and its database if there is one. It writes nothing. It implements
the checks described in docs/audit.md independently of the broker's core, because it verifies the
core. From the core it uses only the code that reads records and database rows.
"""
