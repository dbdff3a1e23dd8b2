"""Selects the files to back up: the configuration, the files it names, and credentials."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from gateway.configuration import Configuration
from gateway.configuration.conf_d import folder_of, names_in
from gateway.configuration.identity import known_id
from gateway.configuration.named_files import MADE_AT_EACH_START, files_named_in

if TYPE_CHECKING:
    from gateway.tools.backup.sources import Named

CREDENTIALS: Final = "upload*.env"
"""Pattern for files of upload credentials. systemd reads them, and no key names them."""


@dataclass(frozen=True, slots=True)
class BackupFiles:
    """The files to back up. `excluded` files need no backup: systemd creates them at each start."""

    named: tuple["Named", ...]
    excluded: tuple[Path, ...]


def files_of(configuration: Configuration) -> BackupFiles:
    """Return the files for a backup of a gateway's configuration and users.

    Raises `OSError` if a folder cannot be read.
    """
    from gateway.tools.backup.sources import Named

    named = [Named("configuration", path) for path in _configuration_files(configuration)]
    excluded = []
    for path in files_named_in(configuration):
        if path.absolute().is_relative_to(MADE_AT_EACH_START):
            excluded.append(path)
        else:
            named.append(Named("users", path))
    if configuration.file is not None:
        found = sorted(Path(configuration.file).absolute().parent.glob(CREDENTIALS))
        named += [Named("users", path) for path in found]
    return BackupFiles(tuple(named), tuple(excluded))


def gateway_of(configuration: Configuration) -> str:
    """Return the gateway's id, or an empty string if it does not exist. No id is created."""
    return configuration.gateway.id or known_id(configuration.identity_dir)


def formats_of_data() -> dict[str, int]:
    """Return a dictionary from database names to the format versions that this program writes."""
    from firmware_bridge.outbox.formats import MIGRATIONS_KNOWN as OUTBOX

    from gateway.broker.store.formats import FORMAT
    from gateway.uplink.formats import MIGRATIONS_KNOWN as UPLINK

    return {"store": FORMAT, "outbox": len(OUTBOX), "uplink": len(UPLINK)}


def _configuration_files(configuration: Configuration) -> Iterator[Path]:
    if configuration.file is None:
        return
    file = Path(configuration.file)
    yield file
    folder = folder_of(file)
    for name in names_in(folder):
        yield folder / name
