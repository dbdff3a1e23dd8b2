"""Audit of the session log: proves that every message is accounted for, or lists the problems.

The audit reads a gateway's log, and its database if there is one. It writes nothing. Because the
audit verifies the broker's core, it has its own implementation of the checks in docs/audit.md. From
the core it uses only the code that reads records and database rows.
"""
