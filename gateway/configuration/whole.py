"""The whole configuration: all sections, and values derived from several of them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from gateway.configuration.addresses import host_and_port_of
from gateway.configuration.listener import Listener
from gateway.configuration.page import Api
from gateway.configuration.queue import Queue
from gateway.configuration.quotas import Flapping, Quotas, UserQuota
from gateway.configuration.sections import (
    Access,
    Alarms,
    Bridge,
    Console,
    Disk,
    Gateway,
    Hooks,
    Limits,
    Mqtt,
    SessionLog,
    Upload,
)
from gateway.configuration.serial_port import Serial
from gateway.configuration.uplink import Uplink
from gateway.process.declarations.quantities import Items
from gateway.process.declarations.section import NO_KEY, Section

BRIDGE_PROTOCOL_VERSION = 4
UPLINK_PROTOCOL_VERSION = 5
UPLINK_WINDOW, UPLINK_WINDOW_MQTT_3 = 100, 19
GATEWAY_TOPIC = "gateway"
"""First level of the topics `gateway/<id>/...`, on which the bridge publishes the gateway's state
for Home Assistant."""
BRIDGE_WINDOW = 100
"""Maximum unacknowledged publications of the bridge: enough for 100 readings per round trip and
commit."""


@dataclass(frozen=True, kw_only=True)
class Configuration(Section):
    """The whole configuration. It is immutable, and its values have been checked and converted."""

    gateway: Gateway = field(default_factory=Gateway)
    listeners: Annotated[tuple[Listener, ...], Items(1)] = (Listener(),)
    mqtt: Mqtt = field(default_factory=Mqtt)
    queues: Annotated[tuple[Queue, ...], Items()] = ()
    quotas: Quotas = field(default_factory=Quotas)
    user_quotas: Annotated[tuple[UserQuota, ...], Items()] = ()
    flapping: Flapping = field(default_factory=Flapping)
    limits: Limits = field(default_factory=Limits)
    disk: Disk = field(default_factory=Disk)
    access: Access = field(default_factory=Access)
    hooks: Hooks = field(default_factory=Hooks)
    session_log: SessionLog = field(default_factory=SessionLog)
    upload: Upload = field(default_factory=Upload)
    bridge: Bridge = field(default_factory=Bridge)
    serial: Annotated[tuple[Serial, ...], Items()] = ()
    console: Console = field(default_factory=Console)
    uplink: Uplink = field(default_factory=Uplink)
    alarms: Alarms = field(default_factory=Alarms)
    api: Api = field(default_factory=Api)
    tenant: str | None = field(default=None, metadata=NO_KEY)
    """The tenant of this configuration, or None for the gateway itself."""
    tenants: Mapping[str, "Configuration"] = field(default_factory=dict, metadata=NO_KEY)
    """The configurations of the tenants, by name. Each of them is complete."""
    sources: Mapping[str, str] = field(
        default_factory=dict, metadata=NO_KEY, compare=False, repr=False
    )
    """Sources of values by `section.key`, `section` or, for a table in a list, `section.0`. The
    entry "" is the source of all other values that are set. The entry "file" is the path of the
    configuration file, if there is one."""
    brokers_count: int = field(default=1, metadata=NO_KEY)
    """Number of brokers that share the disk: the gateway's own broker and one for each tenant."""

    def source_of(self, section: str, key: str | int | None) -> str:
        """Return where a value was set: a file, an environment variable or the command line."""
        named = (f"{section}.{key}", section, "")
        return next((self.sources[name] for name in named if name in self.sources), "")

    @property
    def file(self) -> str | None:
        """The configuration file, or None if no file was read."""
        return self.sources.get("file")

    @property
    def identity_dir(self) -> Path:
        """The directory in which the gateway's id is stored.

        A tenant uses the directory of the gateway, which is two levels above the tenant's own
        directory.
        """
        data_dir = self.gateway.data_dir
        return data_dir if self.tenant is None else data_dir.parent.parent

    @property
    def upload_target(self) -> str:
        """URL of the upload target. The default is the folder `uploaded` in the data directory."""
        return self.upload.target or (self.gateway.data_dir.absolute() / "uploaded").as_uri()

    @property
    def authenticates(self) -> bool:
        """True if users are authenticated in any way.

        If one listener authenticates users by certificate, no listener accepts a user name without
        authentication.
        """
        return bool(self.access.sources) or any(each.proves_users for each in self.listeners)

    @property
    def reaches_broker(self) -> bool:
        """True if the bridge has a broker to connect to.

        The bridge connects to the address in `[bridge] broker` or, without this key, to this
        gateway's own broker, which then needs a listener for plain MQTT.
        """
        return self.bridge.broker is not None or any(each.is_plain for each in self.listeners)

    @property
    def broker_address(self) -> tuple[str, int]:
        """Host and port at which the bridge reaches the broker.

        The address is `[bridge] broker`, or that of the first listener for plain MQTT. Use this
        property only if `reaches_broker` is True.
        """
        if self.bridge.broker is not None:
            return host_and_port_of(self.bridge.broker)
        return next(each for each in self.listeners if each.is_plain).address

    @property
    def admits_bridge(self) -> bool:
        """True if the bridge can reach a broker, and has a user name if one is required."""
        listener = self.own_listener(self.bridge.broker)
        needs_user = listener is not None and not listener.anonymous
        return self.reaches_broker and not (needs_user and self.bridge.username is None)

    def own_listener(self, broker: str | None) -> Listener | None:
        """Return this gateway's listener for plain MQTT at the address `broker`, or None.

        `broker` is the address to which the bridge or the uplink connects. None means the first
        listener for plain MQTT.
        """
        plain = [each for each in self.listeners if each.is_plain]
        if broker is None:
            return next(iter(plain), None)
        host, port = host_and_port_of(broker)
        names = {host, "127.0.0.1"} if host == "localhost" else {host}
        return next((each for each in plain if _is_at(each, names, port)), None)

    @property
    def uplink_local_address(self) -> tuple[str, int]:
        """Host and port at which the uplink reaches this gateway's broker.

        The address is `[uplink] local_broker`, or that of the first listener for plain MQTT.
        """
        if self.uplink.local_broker is not None:
            return host_and_port_of(self.uplink.local_broker)
        return next(each for each in self.listeners if each.is_plain).address

    @property
    def uplink_window(self) -> int:
        """Maximum number of unacknowledged publications of the uplink.

        This is `[uplink] window`, or 100 by default. With MQTT 3.1.1, a broker cannot announce its
        limit. The default is then 19, one less than Mosquitto's limit.
        """
        if self.uplink.window is not None:
            return self.uplink.window
        return UPLINK_WINDOW if self.uplink.protocol == 5 else UPLINK_WINDOW_MQTT_3

    @property
    def bridge_window(self) -> int:
        """Maximum number of unacknowledged publications of the bridge.

        This is `[bridge] window`, or `BRIDGE_WINDOW` if the key is not set. For this gateway's own
        broker, the default is at most that broker's limit for one client.
        """
        if self.bridge.window is not None:
            return self.bridge.window
        own = self.mqtt.max_awaiting_rel if self.bridge.broker is None else BRIDGE_WINDOW
        return min(BRIDGE_WINDOW, own)


def _is_at(listener: Listener, hosts: set[str], port: int) -> bool:
    return port != 0 and listener.address[1] == port and listener.address[0] in hosts
