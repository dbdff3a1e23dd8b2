"""Base classes and types for declaring the tables and keys of the configuration file.

This package is used by `gateway.configuration`, which reads the file, and by the serial protocols,
which declare their own settings. Its modules import pydantic only when they validate a value. A
service that does not validate values therefore needs less memory (docs/decisions/0075-*.md).
"""
