"""What the API process needs to know before it starts.

Promise: a value that never changes while the process runs. Where the values come from (file,
environment, flags) is the business of the command that starts the process.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from api.certificate import CertificateFiles
from api.roles import Role


@dataclass(frozen=True, kw_only=True)
class ApiSettings:
    """Where to listen, whom to ask, and who may see the answers.

    ``bind`` is an address or a host name of this machine, ``port`` a TCP port (0: any free one),
    ``status_socket`` the path of the Unix socket at which the broker takes commands that read,
    ``operate_socket`` that at which it takes those of operators; None: it is beside the other.
    ``bind_unused`` is the address that was configured where another one counts, for want of users.
    ``hosts`` are names under which browsers ask, beside this machine's own. ``roles`` are the
    users who may log in, ``group_roles`` the groups whose members may; without any the page is open
    to everyone who reaches it, so that loopback is the default. ``tokens_file`` has the tokens of
    programs. With a ``certificate`` it speaks HTTPS. ``card_file`` is the report of the SD card's
    system; there is none elsewhere. ``block_devices`` is where the kernel counts what is written.
    """

    status_socket: Path
    operate_socket: Path | None = None
    bind: str = "127.0.0.1"
    port: int = 8080
    bind_unused: str | None = None
    hosts: tuple[str, ...] = ()
    roles: Mapping[str, Role] = field(default_factory=dict)
    group_roles: Mapping[str, Role] = field(default_factory=dict)
    tokens_file: Path | None = None
    certificate: CertificateFiles | None = None
    card_file: Path = Path("/run/oncegate-device/card.json")
    block_devices: Path = Path("/sys/class/block")

    @property
    def acts_at(self) -> Path:
        """The socket at which the page acts."""
        return self.operate_socket or self.status_socket.with_name("operate.sock")

    @property
    def has_users(self) -> bool:
        """Whether callers have to log in."""
        return bool(self.roles or self.group_roles)
