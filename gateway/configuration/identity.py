"""The gateway's id: made once, on the first start, and kept for ever.

`(gateway, boot, sequence)` names an event for ever, so an id that changed by itself would cut the
gateway's history in two. It is on the disk before anyone hears it.
"""

import os
import re
import secrets
from pathlib import Path

from gateway.configuration.problems import ConfigurationError
from gateway.configuration.sections import Configuration

ID_FILE = "gateway-id"
_ID = re.compile(r"[a-z0-9-]{1,64}", re.ASCII)


def gateway_id(configuration: Configuration) -> str:
    """`[gateway] id`, else the id kept in the data directory, else a new one, kept from now on.

    Makes the data directory if it is missing. Raises OSError where it cannot be written, and
    ConfigurationError where the kept id is damaged.
    """
    if configuration.gateway.id is not None:
        return configuration.gateway.id
    directory = configuration.gateway.data_dir
    directory.mkdir(parents=True, exist_ok=True)
    kept = directory / ID_FILE
    if not kept.exists():
        _keep(kept, f"gw-{secrets.token_hex(4)}")
    text = kept.read_text(encoding="ascii", errors="replace").strip()
    if _ID.fullmatch(text) is None:
        mend = "write the id that its segments carry into it, or set [gateway] id"
        raise ConfigurationError([f"{kept}: does not hold a gateway id: {mend}"])
    return text


def _keep(path: Path, text: str) -> None:
    """Write the file so that it is either there and whole or not there; the first writer wins."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}")
    with temporary.open("w", encoding="ascii") as file:
        file.write(f"{text}\n")
        file.flush()
        os.fsync(file.fileno())
    try:
        # Several processes start together: a link, unlike a rename, never replaces another's id.
        os.link(temporary, path)
    except FileExistsError:
        pass
    finally:
        temporary.unlink()
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
