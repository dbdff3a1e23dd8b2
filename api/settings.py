"""What the API process needs to know before it starts.

Promise: a value that never changes while the process runs. Where the values come from (file,
environment, flags) is the business of the command that starts the process.
"""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, kw_only=True)
class ApiSettings:
    """Where to listen and whom to ask.

    ``bind`` is an address or a host name of this machine, ``port`` a TCP port (0: any free one),
    ``status_socket`` the path of the Unix socket at which the broker
    takes commands that read. Loopback is the default because the
    page has no login. ``card_file`` is the report of the SD card's system; there
    is none elsewhere. ``block_devices`` is where the kernel counts what is written.
    """

    status_socket: Path
    bind: str = "127.0.0.1"
    port: int = 8080
    card_file: Path = Path("/run/oncegate-device/card.json")
    block_devices: Path = Path("/sys/class/block")
