"""Location of the configuration file.

The order is: `--config`, ONCEGATE_CONFIG, /etc/oncegate/gateway.toml if it exists, and otherwise no
file: every key has a default.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from gateway.configuration import Configuration, load
from gateway.process.declarations.protocol import Protocols

INSTALLED_FILE = Path("/etc/oncegate/gateway.toml")
FILE_VARIABLE = "ONCEGATE_CONFIG"


def file_of(config: Path | None) -> Path | None:
    """Return the configuration file to use, or None."""
    if config is not None:
        return config
    if os.environ.get(FILE_VARIABLE):
        return Path(os.environ[FILE_VARIABLE])
    return INSTALLED_FILE if INSTALLED_FILE.exists() else None


def read_configuration(
    config: Path | None, *, tenant: str | None = None, **overrides: object
) -> Configuration:
    """Read the configuration of the gateway, or of the given tenant.

    `overrides` are named as in `load`, with `__` for the dot.

    Raises ConfigurationError.
    """
    named = {name.replace("__", "."): value for name, value in overrides.items()}
    return load(file_of(config), os.environ, named, _protocols(), tenant)


def configuration_with(
    config: Path | None, data_dir: Path | None, replaced: Mapping[str, bytes | None]
) -> Configuration:
    """Read the configuration as it would be with other contents of files in `conf.d/`.

    Raises ConfigurationError.
    """
    overrides = {"gateway.data_dir": data_dir}
    return load(file_of(config), os.environ, overrides, _protocols(), replaced=replaced)


def _protocols() -> Protocols:
    from firmware_bridge.protocols.table import PROTOCOLS

    return PROTOCOLS
