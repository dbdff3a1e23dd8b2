"""Building blocks that declare the configuration file's tables, keys and allowed values.

`gateway.configuration` reads the file. The settings of a serial protocol are declared with the
protocol, in a package that the configuration does not import. Both use this package. Its modules
import pydantic only when a value is validated, because a service that only uses values needs less
memory without it (docs/decisions/0075-*.md).
"""
