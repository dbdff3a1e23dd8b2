"""The sections of the configuration file, one class each, with every key, default and limit.

`gateway.configuration.checking` makes them of what a person wrote. Why each default is what it is
stands in `docs/configuration.md`; a test keeps the two in step. The keys of a serial protocol are
declared with the protocol: `ProtocolSettings`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from gateway.configuration.addresses import (
    BindAddress,
    FilePath,
    HostAndPort,
    Origin,
    SocketDirectory,
    SocketPath,
    TopicFilter,
    UploadTarget,
    host_and_port_of,
    is_loopback,
)
from gateway.keys.names import Name
from gateway.keys.protocol import ProtocolSettings
from gateway.keys.quantities import Duration, Items, Size, Text, Whole, refusal
from gateway.keys.section import NO_KEY, Section, keys_of
from gateway.keys.serial_line import (
    BAUD_RATE_DEFAULT,
    BAUD_RATE_MAX,
    BAUD_RATE_MIN,
    Line,
    LineText,
)

KIB, MIB, GIB, TIB = 1 << 10, 1 << 20, 1 << 30, 1 << 40
YEAR_SECONDS = 365 * 86400.0
WEBSOCKET_PORT = 8083
DEFAULT_FRAMING = "board"
BRIDGE_PROTOCOL_VERSION = 4
BRIDGE_WINDOW = 100
"""Enough for 100 readings in each round trip and commit."""
CONTROL_SOCKET, STATUS_SOCKET = "control.sock", "status.sock"
_DEFAULT_BIND, _DEFAULT_PORT = "127.0.0.1", 1883

GROUP = Text(r"[A-Za-z_][A-Za-z0-9_.-]{0,31}", "the name of a group of this machine")
Secret = Annotated[str, Text(r"[^\x00]{1,1024}", "a text of 1 to 1024 characters")]


@dataclass(frozen=True, kw_only=True)
class Gateway(Section):
    """Who this gateway is and where it keeps what must survive."""

    id: Annotated[str, Text(r"[a-z0-9-]{1,64}", "1 to 64 of a-z, 0-9 and -")] | None = None
    data_dir: Annotated[Path, FilePath()] = Path("./var")
    control_dir: Annotated[Path, SocketDirectory()] | None = None
    control_group: Annotated[str, GROUP] | None = None
    status_group: Annotated[str, GROUP] | None = None

    @property
    def control_socket(self) -> Path:
        """Where the broker takes every command: `oncegate ctl`, the bridge, the uploader."""
        return (self.control_dir or self.data_dir) / CONTROL_SOCKET

    @property
    def status_socket(self) -> Path:
        """Where the broker takes only commands that read: the page."""
        return (self.control_dir or self.data_dir) / STATUS_SOCKET


@dataclass(frozen=True, kw_only=True)
class Listener(Section):
    """One address at which the broker listens."""

    bind: Annotated[str, BindAddress()] = _DEFAULT_BIND
    port: Annotated[int, Whole(0, 65535)] = _DEFAULT_PORT
    protocol: Literal["mqtt", "websocket", "unix"] = "mqtt"
    anonymous: bool = True
    allow_anonymous_network: bool = False
    path: Annotated[Path, SocketPath()] | None = None
    origins: Annotated[tuple[Annotated[str, Origin()], ...], Items()] = ()
    proxy_protocol: bool = False
    tls: dict[str, Any] | None = None
    max_connections: Annotated[int, Whole(1, 1_000_000)] | None = None

    @classmethod
    def completed(cls, written: Mapping[str, Any]) -> Mapping[str, Any]:
        if written.get("protocol") == "websocket":
            return {"port": WEBSOCKET_PORT, **written}
        return written

    def check(self) -> None:
        if self.tls is not None:
            raise refusal("no tls: TLS is not available in this version")
        if self.origins and self.protocol != "websocket":
            raise refusal('no origins: they belong to protocol = "websocket"')
        if self.protocol == "unix":
            if self.path is None:
                raise refusal('path, where the socket is to be, with protocol = "unix"')
            if (self.bind, self.port) != (_DEFAULT_BIND, _DEFAULT_PORT):
                raise refusal('path alone with protocol = "unix": it has no bind and no port')
        elif self.path is not None:
            raise refusal('no path: it belongs to protocol = "unix"')
        if self.anonymous and not self.allow_anonymous_network and self.is_reached_from_network:
            raise refusal(
                "anonymous = false with [access] password_file, because "
                f"{self._who_reaches_it}; allow_anonymous_network = true opens it to everyone"
            )

    @property
    def is_reached_from_network(self) -> bool:
        """Whether clients of other machines come in there: through a proxy on this one, perhaps."""
        return self.proxy_protocol or (self.path is None and not is_loopback(self.bind))

    @property
    def _who_reaches_it(self) -> str:
        if self.proxy_protocol:
            return "proxy_protocol = true is for clients that a proxy brings from the network"
        return f"{self.bind} can be reached from the network"

    @property
    def place(self) -> str:
        """Where it listens, in words."""
        return str(self.path) if self.path is not None else f"{self.bind} port {self.port}"

    @property
    def is_plain(self) -> bool:
        """Whether a client finds MQTT on TCP there, with nothing before or around it."""
        return self.protocol == "mqtt" and not self.proxy_protocol


@dataclass(frozen=True, kw_only=True)
class Mqtt(Section):
    """The limits of sessions and packets, under the names that brokers' operators know."""

    max_inflight: Annotated[int, Whole(0, 65535)] = 32
    max_mqueue_len: Annotated[int, Whole(1, 1_000_000_000)] = 10_000
    max_mqueue_bytes: Annotated[int, Size(KIB, TIB)] = 64 * MIB
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
    message_size_limit: Annotated[int, Size(0, 256 * MIB)] = 0
    protocol_versions: Annotated[tuple[Annotated[int, Whole(3, 5)], ...], Items(1)] = (3, 4, 5)
    allow_zero_length_clientid: bool = True
    allow_control_characters: bool = False
    sys_interval: Annotated[float | None, Duration(1, 86400, never=True)] = 10.0


@dataclass(frozen=True, kw_only=True)
class Limits(Section):
    """What the broker may gather before it writes, and how much it may keep."""

    max_uncommitted: Annotated[int, Size(64 * KIB, GIB)] = 16 * MIB
    commit_delay: Annotated[float, Duration(0, 1)] = 0.0
    lazy_commit_delay: Annotated[float, Duration(0, 10)] = 1.0
    checkpoint_interval: Annotated[float, Duration(0.01, 600)] = 1.0
    max_journal: Annotated[int, Size(MIB, TIB)] = GIB


@dataclass(frozen=True, kw_only=True)
class Disk(Section):
    """How the room of the disk is shared out. None: as its file system is large."""

    free_min: Annotated[int, Size(0, TIB)] | None = None
    log_max: Annotated[int, Size(0, TIB)] | None = None
    damaged_max: Annotated[int, Size(0, TIB)] | None = None
    reserve: Annotated[int, Size(0, GIB)] | None = None


@dataclass(frozen=True, kw_only=True)
class Access(Section):
    """Who may connect."""

    password_file: Annotated[Path, FilePath()] | None = None


@dataclass(frozen=True, kw_only=True)
class Hooks(Section):
    """A program of the operator's that watches the broker."""

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
    """What is written down for the cloud, and when a segment is closed."""

    payload_topics: Annotated[tuple[Annotated[str, TopicFilter()], ...], Items()] = ("sensors/#",)
    seal_after: Annotated[float, Duration(0.1, 86400)] = 60.0


@dataclass(frozen=True, kw_only=True)
class Upload(Section):
    """Where sealed segments go."""

    target: Annotated[str, UploadTarget()] | None = None
    sent_keep: Annotated[int, Size(0, TIB)] = 256 * MIB


@dataclass(frozen=True, kw_only=True)
class Bridge(Section):
    """The sensors' way into the broker."""

    client_id: Annotated[str, Text(r"[^\x00]{1,256}", "a text of 1 to 256 characters")] = (
        "oncegate-bridge"
    )
    broker: Annotated[str, HostAndPort()] | None = None
    username: Secret | None = None
    password_file: Annotated[Path, FilePath()] | None = None
    outbox_max: Annotated[int, Size(MIB, TIB)] = 256 * MIB
    window: Annotated[int, Whole(1, 65535)] | None = None
    commit_delay: Annotated[float, Duration(0, 10)] = 0.0


@dataclass(frozen=True, kw_only=True)
class Serial(Section):
    """One serial port and the protocol on it."""

    name: Name
    path: Annotated[Path, FilePath()] | None = None
    usb: (
        Annotated[
            str,
            Text(
                r"[0-9A-Fa-f]{1,4}:[0-9A-Fa-f]{1,4}(:.{1,128})?",
                'a USB identity VID:PID or VID:PID:SERIAL, like "1546:01a7"',
            ),
        ]
        | None
    ) = None
    framing: str = DEFAULT_FRAMING
    baud_rate: Annotated[int, Whole(BAUD_RATE_MIN, BAUD_RATE_MAX)] = BAUD_RATE_DEFAULT
    line: Annotated[Line, LineText()] | None = None
    units: dict[str, str] = field(default_factory=dict)
    device: Name | None = None
    protocol: ProtocolSettings = field(metadata=NO_KEY)
    """Of the other keys in the table, which are those of `framing`."""

    @classmethod
    def completed(cls, written: Mapping[str, Any]) -> Mapping[str, Any]:
        """The port's own keys, and all others as those of the protocol."""
        own = {key: value for key, value in written.items() if key in keys_of(cls)}
        return {**own, "protocol": {key: written[key] for key in written if key not in own}}

    @property
    def line_settings(self) -> Line:
        """`line`, else `baud_rate` with 8 data bits, no parity and 1 stop bit."""
        return self.line or Line(self.baud_rate)

    def check(self) -> None:
        if self.line is not None and "baud_rate" in self.given:
            raise refusal('either baud_rate or line, and not both: line has the rate, "9600 8N1"')
        if (self.path is None) == (self.usb is None):
            raise refusal("either path or usb, and not both: one of them says which port it is")
        if self.protocol.device_prefix is not None and self.device is not None:
            raise refusal(f'no device with framing = "{self.framing}": its devices name themselves')
        if self.line_settings.data_bits not in self.protocol.data_bits:
            bits = " or ".join(str(each) for each in self.protocol.data_bits)
            raise refusal(f'a line of {bits} data bits with framing = "{self.framing}"')


@dataclass(frozen=True, kw_only=True)
class Api(Section):
    """The status page and the REST interface."""

    bind: Annotated[str, BindAddress()] = "127.0.0.1"
    port: Annotated[int, Whole(0, 65535)] = 8080

    @property
    def is_reached_from_network(self) -> bool:
        """Whether visitors on other machines can open the page."""
        return not is_loopback(self.bind)


@dataclass(frozen=True, kw_only=True)
class Configuration(Section):
    """The whole configuration; immutable, in range, converted."""

    gateway: Gateway = Gateway()
    listeners: Annotated[tuple[Listener, ...], Items(1)] = (Listener(),)
    mqtt: Mqtt = Mqtt()
    limits: Limits = Limits()
    disk: Disk = Disk()
    access: Access = Access()
    hooks: Hooks = Hooks()
    session_log: SessionLog = SessionLog()
    upload: Upload = Upload()
    bridge: Bridge = Bridge()
    serial: Annotated[tuple[Serial, ...], Items()] = ()
    api: Api = Api()

    @property
    def upload_target(self) -> str:
        """`[upload] target`, or `uploaded` in the data directory as a URL."""
        return self.upload.target or (self.gateway.data_dir.absolute() / "uploaded").as_uri()

    @property
    def broker_address(self) -> tuple[str, int]:
        """Host and port at which the bridge finds the broker: its own setting or the first
        listener for plain MQTT."""
        if self.bridge.broker is not None:
            return host_and_port_of(self.bridge.broker)
        first = next(door for door in self.listeners if door.is_plain)
        everywhere = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104
        return everywhere.get(first.bind, first.bind), first.port

    @property
    def bridge_window(self) -> int:
        """Publications that the bridge has under way at a time: `[bridge] window`, else as many as
        its own broker holds for one client, and not more than another broker may be expected to."""
        if self.bridge.window is not None:
            return self.bridge.window
        own = self.mqtt.max_awaiting_rel if self.bridge.broker is None else BRIDGE_WINDOW
        return min(BRIDGE_WINDOW, own)

    def check(self) -> None:
        doors = [door.place for door in self.listeners if door.path or door.port]
        for place in doors:
            if doors.count(place) > 1:
                raise refusal(f"one listener at {place}, not several")
        if self.bridge.broker is None and not any(door.is_plain for door in self.listeners):
            raise refusal(
                'a listener with protocol = "mqtt" and without proxy_protocol for the bridge, or '
                "[bridge] broker"
            )
        # More exchanges in flight than the broker holds for one client would end the connection.
        if self.bridge.broker is None and self.bridge_window > self.mqtt.max_awaiting_rel:
            raise refusal("a [bridge] window of at most [mqtt] max_awaiting_rel")
        if self.bridge.broker is None and self.serial:
            if self.mqtt.maximum_qos < 2:
                raise refusal("[mqtt] maximum_qos = 2 for the bridge, or [bridge] broker")
            if BRIDGE_PROTOCOL_VERSION not in self.mqtt.protocol_versions:
                raise refusal("4 in [mqtt] protocol_versions for the bridge, or [bridge] broker")
        names = [port.name for port in self.serial]
        for name in names:
            if names.count(name) > 1:
                raise refusal(f'one [[serial]] with name = "{name}", not several')
        if self.access.password_file is None and not all(door.anonymous for door in self.listeners):
            raise refusal("[access] password_file where a listener has anonymous = false")
