"""What the operator configures, checked before anything is done with it.

This room turns one TOML file, the environment and the command line into one immutable
`Configuration`. It owes its callers values that are in range and already converted (seconds,
bytes, paths), and it owes the operator one line for each mistake, with the file, the key, the
value and what is allowed. What the values mean is up to the rooms that use them; every key is
explained in `docs/configuration.md`.
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
