"""Settings of the API process. The settings do not change while the process runs.

The command that starts the process reads the settings from the configuration file, the environment
and the command-line options.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from api.alarms.conditions.thresholds import Thresholds
from api.connections.certificate_files import CertificateFiles
from api.login.roles import Role
from api.status.backup import BackupCommand


@dataclass(frozen=True, kw_only=True)
class ApiSettings:
    """Settings of the API: its address, the broker that it queries, and its users.

    ``bind`` is an address or host name of this machine, and ``port`` a TCP port; 0 selects any free
    port. ``bind_unused`` is the configured address if it is ignored because no users are
    configured. ``status_socket`` is the broker's Unix socket for commands that read, and
    ``operate_socket`` the socket for operators' commands. If ``operate_socket`` is None, it is
    ``operate.sock`` next to ``status_socket``. ``hosts`` are additional host names under which
    browsers can reach this machine.

    ``roles`` are the users who may log in, and ``group_roles`` the groups whose members may log in.
    Without either setting, the page is open to everyone who can reach it, so loopback is the
    default address. ``tokens_file`` contains the tokens of programs. With a ``certificate`` the
    page uses HTTPS.

    ``card_file`` is the report about the SD card, and ``block_devices`` the directory with the
    kernel's counters of written sectors. ``history_dir`` is the directory for the history and the
    alarms; without it, both are in memory only. ``thresholds`` are the thresholds of alarms.
    ``backup`` is the command that makes backups for administrators.
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
    backup: BackupCommand | None = None

    @property
    def acts_at(self) -> Path:
        """Path of the broker's socket for operators' commands."""
        return self.operate_socket or self.status_socket.with_name("operate.sock")

    @property
    def alarms_file(self) -> Path | None:
        """The file that stores alarms across restarts, or None if they are in memory only."""
        return None if self.history_dir is None else self.history_dir / "alarms.db"

    @property
    def has_users(self) -> bool:
        """True if callers must log in."""
        return bool(self.roles or self.group_roles)
