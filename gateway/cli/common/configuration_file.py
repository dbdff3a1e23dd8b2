"""Location of the configuration file.

The option `--config` gives the path. Without this option, the environment variable ONCEGATE_CONFIG
gives the path. If neither is set, the file is /etc/oncegate/gateway.toml. If this file does not
exist, every key has its default value.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from gateway.configuration import Configuration, load
from gateway.process.declarations.protocol import Protocols

INSTALLED_FILE = Path("/etc/oncegate/gateway.toml")
FILE_VARIABLE = "ONCEGATE_CONFIG"


def file_of(config: Path | None) -> Path | None:
    """Return the path of the configuration file to use, or None if there is no file."""
    if config is not None:
        return config
    if os.environ.get(FILE_VARIABLE):
        return Path(os.environ[FILE_VARIABLE])
    return INSTALLED_FILE if INSTALLED_FILE.exists() else None


def read_configuration(
    config: Path | None, *, tenant: str | None = None, **overrides: object
) -> Configuration:
    """Read the configuration of the gateway, or of a tenant.

    Each of the `overrides` replaces a value from the file, unless it is None. Its name is a section
    and a key with `__` between them, such as `gateway__data_dir`. The override `listen` sets the
    address of the first listener. Raises ConfigurationError if the configuration is invalid.
    """
    named = {name.replace("__", "."): value for name, value in overrides.items()}
    return load(file_of(config), os.environ, named, _protocols(), tenant)


def configuration_with(
    config: Path | None, data_dir: Path | None, replaced: Mapping[str, bytes | None]
) -> Configuration:
    """Read the configuration as if some files in `conf.d/` had other contents.

    `replaced` maps file names to their contents, or to None for a removed file.
    Raises ConfigurationError if the resulting configuration is invalid.
    """
    overrides = {"gateway.data_dir": data_dir}
    return load(file_of(config), os.environ, overrides, _protocols(), replaced=replaced)


def _protocols() -> Protocols:
    from firmware_bridge.protocols.table import PROTOCOLS

    return PROTOCOLS
