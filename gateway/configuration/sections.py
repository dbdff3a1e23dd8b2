"""Classes for sections that occur once in the configuration file: keys, defaults and limits.

`gateway.configuration.checking` creates the objects from the file. `docs/configuration.md` gives
the reason for each default. A test compares that page with these classes. `[api]` is in `page.py`.
`[[listeners]]` and `[[serial]]`, which can occur several times, are in `listener.py` and
`serial_port.py`. `whole.py` combines all sections.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from gateway.configuration.addresses import (
    FilePath,
    HostAndPort,
    SocketDirectory,
    TopicFilter,
    UploadTarget,
)
from gateway.configuration.jwt import Jwt
from gateway.configuration.mysql import Mysql
from gateway.configuration.tls import ClientTls
from gateway.process.declarations.quantities import (
    Duration,
    Items,
    Number,
    Size,
    Text,
    Whole,
    refusal,
)
from gateway.process.declarations.section import Section

TOPIC_ALLOWED = '1 to 256 characters without "+" and "#"'

KIB, MIB, GIB, TIB = 1 << 10, 1 << 20, 1 << 30, 1 << 40
YEAR_SECONDS = 365 * 86400.0
GATEWAY_ID = r"[a-z0-9-]{1,64}"
CONTROL_SOCKET, STATUS_SOCKET, OPERATE_SOCKET = "control.sock", "status.sock", "operate.sock"

SOURCES = ("jwt", "password_file", "mysql")
"""Default order in which the sources of users are queried; fast sources come first."""
SOURCE = Text("|".join(SOURCES), f"the names of sources, {', '.join(SOURCES)}")
GROUP = Text(r"[A-Za-z_][A-Za-z0-9_.-]{0,31}", "the name of a group of this machine")
Secret = Annotated[str, Text(r"[^\x00]{1,1024}", "a text of 1 to 1024 characters")]


@dataclass(frozen=True, kw_only=True)
class Gateway(Section):
    """Identity of this gateway, and the paths of its directories."""

    id: Annotated[str, Text(GATEWAY_ID, "1 to 64 of a-z, 0-9 and -")] | None = None
    data_dir: Annotated[Path, FilePath()] = Path("./var")
    control_dir: Annotated[Path, SocketDirectory()] | None = None
    control_group: Annotated[str, GROUP] | None = None
    status_group: Annotated[str, GROUP] | None = None
    operate_group: Annotated[str, GROUP] | None = None

    @property
    def control_socket(self) -> Path:
        """Path of the socket for all commands.

        The socket is used by `oncegate ctl`, the bridge and the uploader.
        """
        return (self.control_dir or self.data_dir) / CONTROL_SOCKET

    @property
    def status_socket(self) -> Path:
        """Path of the socket for read-only commands, used by the status page."""
        return (self.control_dir or self.data_dir) / STATUS_SOCKET

    @property
    def operate_socket(self) -> Path:
        """Path of the socket for actions that operators perform on the page.

        The socket exists only if operators are configured.
        """
        return (self.control_dir or self.data_dir) / OPERATE_SOCKET


@dataclass(frozen=True, kw_only=True)
class Mqtt(Section):
    """Limits on sessions and packets. The keys are named as in other brokers."""

    max_inflight: Annotated[int, Whole(0, 65535)] = 32
    max_mqueue_len: Annotated[int, Whole(0, 1_000_000_000)] = 1_000_000
    max_mqueue_bytes: Annotated[int, Size(KIB, TIB)] = 64 * MIB
    max_queue_memory: Annotated[int, Size(MIB, TIB)] | None = None
    mqueue_store_qos0: bool = False
    max_awaiting_rel: Annotated[int, Whole(1, 65535)] = 100
    max_awaiting_rel_bytes: Annotated[int, Size(KIB, TIB)] = 16 * MIB
    await_rel_timeout: Annotated[float | None, Duration(1, YEAR_SECONDS, never=True)] = None
    retry_interval: Annotated[float | None, Duration(1, 86400, never=True)] = None
    max_packet_size: Annotated[int, Size(128, 256 * MIB)] = 2 * MIB
    max_topic_alias: Annotated[int, Whole(0, 65535)] = 16
    check_payload_format: bool = False
    max_keep_alive: Annotated[float, Duration(1, 65535)] = 65535.0
    max_session_expiry: Annotated[float | None, Duration(1, 10 * YEAR_SECONDS, never=True)] = None
    max_connections: Annotated[int, Whole(1, 1_000_000)] = 10_000
    connect_timeout: Annotated[float, Duration(0.1, 3600)] = 10.0
    max_subscriptions: Annotated[int, Whole(1, 1_000_000)] = 1000
    max_subscription_bytes: Annotated[int, Size(KIB, TIB)] = 128 * MIB
    max_topic_levels: Annotated[int, Whole(1, 65535)] = 128
    max_write_buffer: Annotated[int, Size(4 * KIB, GIB)] = MIB
    max_retained: Annotated[int, Whole(0, 100_000_000)] = 100_000
    max_retained_bytes: Annotated[int, Size(KIB, TIB)] = 128 * MIB
    max_sessions: Annotated[int, Whole(1, 100_000_000)] = 100_000
    maximum_qos: Annotated[int, Whole(0, 2)] = 2
    retain_available: bool = True
    check_retain_source: bool = True
    message_size_limit: Annotated[int, Size(0, 256 * MIB)] = 0
    protocol_versions: Annotated[tuple[Annotated[int, Whole(3, 5)], ...], Items(1)] = (3, 4, 5)
    allow_zero_length_clientid: bool = True
    allow_control_characters: bool = False
    sys_interval: Annotated[float | None, Duration(1, 86400, never=True)] = 10.0


@dataclass(frozen=True, kw_only=True)
class Limits(Section):
    """Limits on uncommitted data, the journal's size, and commit delays."""

    max_uncommitted: Annotated[int, Size(64 * KIB, GIB)] = 16 * MIB
    commit_delay: Annotated[float, Duration(0, 1)] = 0.0
    lazy_commit_delay: Annotated[float, Duration(0, 10)] = 1.0
    checkpoint_interval: Annotated[float, Duration(0.01, 600)] = 10.0
    max_journal: Annotated[int, Size(MIB, TIB)] = GIB


@dataclass(frozen=True, kw_only=True)
class Disk(Section):
    """Limits on disk use. The defaults depend on the size of the file system."""

    free_min: Annotated[int, Size(0, TIB)] | None = None
    log_max: Annotated[int, Size(0, TIB)] | None = None
    log_max_files: Annotated[int, Whole(1, 100_000_000)] | None = None
    damaged_max: Annotated[int, Size(0, TIB)] | None = None
    reserve: Annotated[int, Size(0, GIB)] | None = None


@dataclass(frozen=True, kw_only=True)
class Access(Section):
    """Settings for authenticating users, and the path of the file with the access rules."""

    password_file: Annotated[Path, FilePath()] | None = None
    rules_file: Annotated[Path, FilePath()] | None = None
    order: Annotated[tuple[Annotated[str, SOURCE], ...], Items(1)] = SOURCES
    jwt: Jwt | None = None
    mysql: Mysql | None = None
    sessions_outlive_proof: Annotated[float | None, Duration(60, 10 * YEAR_SECONDS, never=True)] = (
        30 * 86400.0
    )

    def check(self) -> None:
        if len({*self.order}) < len(self.order):
            raise refusal("an order that names each source once")
        for source in SOURCES:
            if getattr(self, source) is not None and source not in self.order:
                raise refusal(f'"{source}" in order, or no {source}')

    @property
    def sources(self) -> tuple[str, ...]:
        """The configured sources of users, in the order in which they are queried."""
        return tuple(source for source in self.order if getattr(self, source) is not None)


@dataclass(frozen=True, kw_only=True)
class Hooks(Section):
    """A Python module, provided by the operator, that observes the broker."""

    module: (
        Annotated[
            str,
            Text(
                r"[A-Za-z_]\w{0,63}(\.[A-Za-z_]\w{0,63}){0,15}",
                'the name of a Python module, like "my_hooks" or "site_tools.gateway"',
            ),
        ]
        | None
    ) = None


@dataclass(frozen=True, kw_only=True)
class SessionLog(Section):
    """Settings of the session log: which payloads it contains, and when a file is completed."""

    payload_topics: Annotated[tuple[Annotated[str, TopicFilter()], ...], Items()] = ("sensors/#",)
    seal_after: Annotated[float, Duration(0.1, 86400)] = 60.0


@dataclass(frozen=True, kw_only=True)
class Upload(Section):
    """The target for uploading the session log, and how many uploaded files to keep."""

    target: Annotated[str, UploadTarget()] | None = None
    sent_keep: Annotated[int, Size(0, TIB)] = 256 * MIB
    sent_keep_files: Annotated[int, Whole(0, 1_000_000)] = 10_000
    checksum_header: bool = True


@dataclass(frozen=True, kw_only=True)
class Bridge(Section):
    """Settings of the bridge, which publishes sensor readings to the broker."""

    client_id: Annotated[str, Text(r"[^\x00]{1,256}", "a text of 1 to 256 characters")] = (
        "oncegate-bridge"
    )
    broker: Annotated[str, HostAndPort()] | None = None
    username: Secret | None = None
    password_file: Annotated[Path, FilePath()] | None = None
    tls: ClientTls | None = None
    outbox_max: Annotated[int, Size(MIB, TIB)] = 256 * MIB
    outbox_max_age: Annotated[float | None, Duration(10, 31536000, never=True)] = None
    window: Annotated[int, Whole(1, 65535)] | None = None
    commit_delay: Annotated[float, Duration(0, 10)] = 0.0
    availability_topic: (
        Annotated[str, Text(r"[^\x00+#$][^\x00+#]{0,255}", TOPIC_ALLOWED)] | None
    ) = None
    home_assistant_prefix: (
        Annotated[
            str,
            Text(
                r"[A-Za-z0-9_-]{1,64}(/[A-Za-z0-9_-]{1,64}){0,3}",
                'letters, digits, "_", "-" and "/", like "homeassistant"',
            ),
        ]
        | None
    ) = None
    commands: bool = False

    def check(self) -> None:
        if self.tls is not None and self.broker is None:
            raise refusal(
                "broker with tls, as named in its certificate: the first listener has no tls"
            )


@dataclass(frozen=True, kw_only=True)
class Alarms(Section):
    """Thresholds for the status page's alarms, and the prefix of the alarms' topics."""

    topic: Annotated[str, Text(r"[^\x00+#$][^\x00+#]{0,255}", TOPIC_ALLOWED)] = "alarms"
    disk_free: Annotated[float, Number(0.9, 0)] = 0.1
    clock_unsynchronised: Annotated[float, Duration(0, 86400)] = 600.0
    upload_backlog: Annotated[int, Size(0, TIB)] = 64 * MIB
    temperature: Annotated[float, Number(150, 0)] = 80.0
    card_life: Annotated[float, Number(30, 0)] = 2.0
    wrong_passwords: Annotated[int, Whole(1, 1_000_000)] = 20


@dataclass(frozen=True, kw_only=True)
class Console(Section):
    """Setting that assigns the UART on a Raspberry Pi's pin header to the console or to sensors."""

    uart: Literal["console", "sensors"] | None = None
