"""Settings of the API process.

They never change while the process runs. The command that starts it reads them from file,
environment and options.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from api.alarms.thresholds import Thresholds
from api.certificate_files import CertificateFiles
from api.roles import Role


@dataclass(frozen=True, kw_only=True)
class ApiSettings:
    """Settings of the API: its address, the broker that it queries, and its users.

    ``bind`` is an address or host name of this machine, ``port`` a TCP port (0: any free one).
    ``bind_unused`` is the configured address if it is not used, because there are no users.
    ``status_socket`` is the broker's Unix socket for reading commands, and ``operate_socket`` the
    one for operators' commands; None: next to the former. ``hosts`` are host names by which
    browsers may call this machine, in addition to its own.

    ``roles`` are the users who may log in, and ``group_roles`` the groups whose members may.
    Without any, the page is open to everybody who can reach it, so loopback is the default.
    ``tokens_file`` has the tokens of programs. With a ``certificate`` the page uses HTTPS.
    ``card_file`` is the report about the SD card, and ``block_devices`` the directory with the
    kernel's counters of written sectors. ``history_dir`` is the directory of the history and of
    alarms; without it they are in memory only. ``thresholds`` are those of alarms.
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
    history_dir: Path | None = None
    thresholds: Thresholds = field(default_factory=Thresholds)

    @property
    def acts_at(self) -> Path:
        """The socket for actions."""
        return self.operate_socket or self.status_socket.with_name("operate.sock")

    @property
    def alarms_file(self) -> Path | None:
        """The file that keeps alarms over a restart; None: they are in memory only."""
        return None if self.history_dir is None else self.history_dir / "alarms.db"

    @property
    def has_users(self) -> bool:
        """True if callers have to log in."""
        return bool(self.roles or self.group_roles)
