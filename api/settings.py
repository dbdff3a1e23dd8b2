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

    ``bind`` is an address or host name of this machine. ``port`` is a TCP port, or 0 for any free
    port. ``bind_unused`` is the configured address if it is ignored because no users are
    configured. ``status_socket`` is the broker's Unix socket for queries. ``operate_socket`` is the
    socket for operators' commands. If it is None, ``operate.sock`` next to ``status_socket`` is
    used. ``hosts`` are additional host names under which browsers can reach this machine.

    ``roles`` contains the role of each user who can log in. ``group_roles`` contains the role of
    each group whose members can log in. If both are empty, everyone who can reach the page can read
    it. The default address is therefore loopback. ``tokens_file`` contains the tokens of programs.
    If there is a ``certificate``, the page uses HTTPS.

    ``card_file`` is the report about the SD card. ``block_devices`` is the directory with the
    kernel's counters of written sectors. ``history_dir`` is the directory for the history and the
    alarms. If it is None, both are in memory only. ``thresholds`` are the thresholds of alarms.
    ``backup`` is the command that creates backups for administrators.
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
