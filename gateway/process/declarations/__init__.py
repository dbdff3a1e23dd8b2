"""Declaration of tables of the configuration file: their keys, and the values that each accepts.

`gateway.configuration` reads the file. The settings of a serial protocol are declared with the
protocol, in a package that the configuration does not import. Both use this package. Its modules
import pydantic only when a value is checked, so that a service that only uses values stays small
(docs/decisions/0075-*.md).
"""
