"""The operator's configuration, validated before use.

This package turns a TOML file, the environment and the command line into one immutable
`Configuration`. Its values have been validated and converted (to seconds, bytes or paths). Each
mistake is reported in one line with the file, the key, the value and the allowed values. The
meaning of a value is defined by the package that uses it. `docs/configuration.md` explains every
key.
"""

from gateway.configuration.identity import gateway_id, log_identity
from gateway.configuration.listener import Listener
from gateway.configuration.loading import load
from gateway.configuration.problems import ConfigurationError
from gateway.configuration.serial_port import Serial
from gateway.configuration.whole import Configuration

__all__ = [
    "Configuration",
    "ConfigurationError",
    "Listener",
    "Serial",
    "gateway_id",
    "load",
    "log_identity",
]
