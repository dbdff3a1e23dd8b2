"""How a table of the configuration file is declared: its keys, and what each accepts.

Why this room exists: `gateway.configuration` reads the file, and the settings of a serial protocol
are declared with their protocol, in a room that the configuration does not know. Both use what is
here. No module here imports pydantic until a value is checked, so that a service that only uses
values stays small (docs/decisions/0075-*.md).
"""
