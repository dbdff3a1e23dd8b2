"""Settings of the uplink, as dataclasses that check their values."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from gateway.process.mqtt_client.tls import TlsFiles
from gateway.uplink.routes import Route

SESSION_NEVER_EXPIRES = 0xFFFFFFFF
WINDOW_MAX = 65_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A broker's address, and the identity with which the uplink connects to it.

    `client_id` is the first part of the session's name. `fix` names the configuration keys for user
    name and password, for error messages. The uplink publishes `online` and `offline` to
    `availability_topic`, unless it is None.
    """

    host: str
    port: int
    client_id: str
    version: Literal[4, 5] = 5
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    tls: TlsFiles | None = None
    session_expiry_seconds: int = SESSION_NEVER_EXPIRES
    availability_topic: str | None = None
    fix: str = "[uplink] username and password_file"

    def __post_init__(self) -> None:
        if not self.client_id:
            raise ValueError("uplink client_id is empty: a persistent session needs a name")
        if self.password is not None and self.username is None:
            raise ValueError("uplink password without username: set both, or neither")


@dataclass(frozen=True, slots=True, kw_only=True)
class UplinkSettings:
    """All settings of the uplink.

    `queue_bytes_max` limits the size of the messages on disk in each direction. `window` limits the
    number of exchanges in flight with a broker. `packet_bytes_max` limits the size of a received
    packet.
    """

    data_dir: Path
    gateway_id: str
    local: Endpoint
    remote: Endpoint
    routes: tuple[Route, ...]
    control_socket: Path
    queue_bytes_max: int = 256 * 1024 * 1024
    window: int = 100
    packet_bytes_max: int = 2 * 1024 * 1024
    report_seconds: float = 1.0

    def __post_init__(self) -> None:
        if not self.routes:
            raise ValueError("uplink without topics: it would carry nothing")
        if not 1 <= self.window <= WINDOW_MAX:
            raise ValueError(f"uplink window {self.window} is not in 1 to {WINDOW_MAX}")
