"""Building blocks that declare the configuration file's tables, keys and allowed values.

This package is used by `gateway.configuration`, which reads the file, and by the serial protocols,
which declare their own settings in a package that `gateway.configuration` does not import. Its
modules import pydantic only when a value is validated, because a service that only uses values
needs less memory if pydantic is not loaded (docs/decisions/0075-*.md).
"""
