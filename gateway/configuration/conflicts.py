"""Checks for conflicts between values in different tables.

Each message suggests an alternative. The checks run even if some sections are invalid, so that all
mistakes are reported together. A check that needs an invalid section is skipped. In `[[listeners]]`
and `[[serial]]`, only the valid tables are checked.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from gateway.configuration.header_uart import is_header_uart
from gateway.configuration.listener import Listener
from gateway.configuration.whole import (
    BRIDGE_PROTOCOL_VERSION,
    UPLINK_PROTOCOL_VERSION,
    Configuration,
)

_EVERYWHERE = {"0.0.0.0": 4, "::": 6}  # noqa: S104
"""Bind addresses that mean all addresses of this machine, with the IP version."""


def conflicts(configuration: Configuration, wrong: Collection[str] = ()) -> Iterator[str]:
    """Yield a message for each conflict, with a suggested alternative.

    Args:
        configuration: the valid parts of the configuration. Invalid sections have default values,
            and invalid tables in lists are missing.
        wrong: names of the sections and lists that have mistakes.
    """
    yield from _places(configuration, wrong)
    yield from _serial_ports(configuration)
    if "console" not in wrong and configuration.console.uart == "console":
        yield from _ports_of_the_console(configuration)
    # The bridge belongs to the gateway and does not use a tenant's broker by default.
    has_bridge = configuration.tenant is None and configuration.bridge.broker is None
    # Without a serial port, a bridge that cannot connect loses nothing.
    reads = configuration.tenant is None and bool(configuration.serial)
    if reads and not {"listeners", "bridge", "serial"} & {*wrong}:
        yield from _listener_for_the_bridge(configuration)
    if has_bridge and not {"mqtt", "bridge"} & {*wrong}:
        yield from _limits_for_the_bridge(configuration)
    uplink = configuration.uplink
    if not {"listeners", "mqtt", "uplink"} & {*wrong} and uplink.address:
        if not uplink.local_broker:
            yield from _broker_for_the_uplink(configuration)
        listener = configuration.own_listener(uplink.local_broker)
        if listener is not None and not listener.anonymous and uplink.local_username is None:
            yield (
                f"[uplink] local_username and local_password_file: the uplink connects to the "
                f"listener at {listener.place}, which has anonymous = false"
            )
    asks = not all(each.anonymous or each.demands_users for each in configuration.listeners)
    if "access" not in wrong and not configuration.access.sources and asks:
        yield "[access] password_file where a listener has anonymous = false"
    if not {"access", "api"} & {*wrong}:
        yield from _users_of_the_page(configuration)


def _users_of_the_page(configuration: Configuration) -> Iterator[str]:
    access = configuration.access
    if configuration.api.roles and not access.sources:
        yield (
            "[access] password_file, jwt or mysql with [api] viewers, operators or "
            "administrators: the page's users are the broker's"
        )
    if configuration.api.group_roles and not (
        (access.jwt is not None and access.jwt.groups_claim is not None)
        or (access.mysql is not None and "user_groups" in access.mysql.query)
    ):
        yield (
            "[access.jwt] groups_claim, or user_groups in the query of [access.mysql], with [api] "
            "viewer_groups, operator_groups or administrator_groups: groups of the page come "
            "from there"
        )


def _places(configuration: Configuration, wrong: Collection[str]) -> Iterator[str]:
    # If no table is valid, the default one is used, which is in no file.
    is_known = "listeners" not in wrong or "listeners" in configuration.given
    written = configuration.listeners if is_known else ()
    listeners = [each for each in written if each.path or each.port]
    for place in _repeated(each.place for each in listeners):
        yield f"one listener at {place}, not several"
    names = {each.name for each in written}
    for name in _repeated(each.called for each in written):
        if name in names:  # a listener without a name was reported above
            yield f'one [[listeners]] that is called "{name}", not several'
    page = configuration.api
    for first, second in _on_one_port(listeners):
        yield f"another port for the listener at {second.place}: {first.place} includes it"
    if "api" not in wrong:
        for each in listeners:
            if each.path is None and collide((each.bind, each.port), (page.listens_at, page.port)):
                yield f"another [api] port than {page.port}: {each.place} already uses it"
    if "gateway" not in wrong:
        section = configuration.gateway
        for path in (section.control_socket, section.status_socket, section.operate_socket):
            if any(each.path is not None and _same(each.path, path) for each in listeners):
                yield f"another path for the listener at {path}: a control socket has this path"


def _on_one_port(listeners: list[Listener]) -> Iterator[tuple[Listener, Listener]]:
    """Yield pairs of listeners that use the same port and cannot both be opened.

    The first listener of each pair listens on all addresses, including the address of the second.
    """
    on_tcp = [each for each in listeners if each.path is None]
    for first in (each for each in on_tcp if each.bind in _EVERYWHERE):
        for second in on_tcp:
            differ = first.place != second.place
            if differ and collide((first.bind, first.port), (second.bind, second.port)):
                yield first, second


def collide(one: tuple[str, int], other: tuple[str, int]) -> bool:
    """Return True if two sockets cannot listen on `one` and `other` at the same time.

    `one` and `other` are pairs of a bind address and a port.
    """
    if one[1] != other[1] or one[1] == 0:
        return False
    for first, second in ((one[0], other[0]), (other[0], one[0])):
        if first == second or _EVERYWHERE.get(first) in _versions_of(second):
            return True
        if first == "localhost" and second in ("127.0.0.1", "::1"):
            return True
    return False


def _versions_of(bind: str) -> tuple[int, ...]:
    if bind == "localhost":
        return (4, 6)
    return (6,) if ":" in bind else (4,)


def _same(one: Path, other: Path) -> bool:
    return one.absolute() == other.absolute()


def _serial_ports(configuration: Configuration) -> Iterator[str]:
    ports = configuration.serial
    for name in _repeated(port.name for port in ports):
        yield f'one [[serial]] with name = "{name}", not several'
    for path in _repeated(str(port.path) for port in ports if port.path is not None):
        yield f'one [[serial]] with path = "{path}", not several'
    for usb in _repeated(port.usb.lower() for port in ports if port.usb is not None):
        yield f'one [[serial]] with usb = "{usb}", not several'
    for address in _repeated(port.address.lower() for port in ports if port.address is not None):
        yield f'one [[serial]] with address = "{address}", not several'


def _ports_of_the_console(configuration: Configuration) -> Iterator[str]:
    for port in configuration.serial:
        if is_header_uart(port.path):
            yield (
                f'[console] uart = "sensors" for the serial port {port.name}: {port.path} is the '
                "header's UART, on which the console writes and reads"
            )


def _repeated(values: Iterable[str]) -> list[str]:
    return [value for value, count in Counter(values).items() if count > 1]


def _listener_for_the_bridge(configuration: Configuration) -> Iterator[str]:
    if not configuration.reaches_broker:
        yield (
            'a listener with protocol = "mqtt" and without proxy_protocol or tls for the bridge, '
            "for example on loopback, or [bridge] broker"
        )
    listener = configuration.own_listener(configuration.bridge.broker)
    if listener is not None and not listener.anonymous and configuration.bridge.username is None:
        yield (
            f"[bridge] username and password_file: the bridge connects to the listener at "
            f"{listener.place}, which has anonymous = false"
        )


def _limits_for_the_bridge(configuration: Configuration) -> Iterator[str]:
    mqtt = configuration.mqtt
    # More exchanges in flight than the broker holds for one client would end the connection.
    if configuration.bridge_window > mqtt.max_awaiting_rel:
        yield "a [bridge] window of at most [mqtt] max_awaiting_rel"
    if not configuration.serial:
        return
    if mqtt.maximum_qos < 2:
        yield "[mqtt] maximum_qos = 2 for the bridge, or [bridge] broker"
    if BRIDGE_PROTOCOL_VERSION not in mqtt.protocol_versions:
        yield "4 in [mqtt] protocol_versions for the bridge, or [bridge] broker"
    if mqtt.retain_available:
        return
    # The broker would close the bridge's connection after every message with RETAIN.
    if any(each.readings and each.readings.retain for each in configuration.serial):
        yield "[mqtt] retain_available = true for [serial.readings] retain, or [bridge] broker"
    for key in ("availability_topic", "home_assistant_prefix"):
        if getattr(configuration.bridge, key) is not None:
            yield f"[mqtt] retain_available = true for [bridge] {key}, or [bridge] broker"


def _broker_for_the_uplink(configuration: Configuration) -> Iterator[str]:
    mqtt, qos = configuration.mqtt, max(each.qos for each in configuration.uplink.topics)
    if not any(each.is_plain for each in configuration.listeners):
        yield (
            'a listener with protocol = "mqtt" and without proxy_protocol or tls for the uplink, '
            "for example on loopback, or [uplink] local_broker"
        )
    if UPLINK_PROTOCOL_VERSION not in mqtt.protocol_versions:
        yield "5 in [mqtt] protocol_versions for the uplink"
    if mqtt.maximum_qos < qos:
        yield f"[mqtt] maximum_qos = {qos} for the uplink, or a lower qos in [[uplink.topics]]"
