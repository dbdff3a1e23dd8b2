"""A run in words: one short line for each event."""

from dataclasses import fields, is_dataclass

from gateway.broker.wire.packets import Connect, Packet, Publish, Subscribe

SHOWN_BYTES = 24


def reported(thing: object) -> str:
    """Return a packet or a step in words. A string is returned unchanged."""
    if isinstance(thing, Packet):
        return _packet_text(thing)
    if is_dataclass(thing) and not isinstance(thing, type):
        return _step_text(thing)
    return str(thing)


def _packet_text(packet: Packet) -> str:
    name = type(packet).__name__.upper()
    if isinstance(packet, Publish):
        flags = " DUP" * packet.dup + " RETAIN" * packet.retain
        number = f" id {packet.packet_id}" if packet.qos else ""
        what = f"{packet.topic} {_short(packet.payload)}{_properties_text(packet)}"
        return f"{name} QoS {packet.qos}{number}{flags} {what}"
    if isinstance(packet, Connect):
        clean = " clean start" * packet.clean_start
        will = f", will {_short(packet.will.payload)}" if packet.will is not None else ""
        return f"{name} {packet.protocol_level}{clean}{will}{_properties_text(packet)}"
    if isinstance(packet, Subscribe):
        wanted = ", ".join(f"{each.topic_filter} QoS {each.qos}" for each in packet.subscriptions)
        return f"{name} id {packet.packet_id} {wanted}"
    words = [
        f"{field.replace('packet_id', 'id')} {value}"
        for field, value in packet.fields()
        if field != "properties" and value not in (None, 0, False)
    ]
    return f"{name} {', '.join(words)}{_properties_text(packet)}".rstrip()


def _properties_text(packet: Packet) -> str:
    properties = getattr(packet, "properties", None)
    if properties is None:
        return ""
    return "".join(f", {name} {value}" for name, value in properties.fields() if value)


def _step_text(step: object) -> str:
    assert is_dataclass(step)
    words = [
        f"{field.name}={getattr(step, field.name)!r}"
        for field in fields(step)
        if getattr(step, field.name) != field.default
    ]
    return f"{type(step).__name__}({', '.join(words)})"


def _short(payload: bytes) -> str:
    text = payload.rstrip(b" .").decode("utf-8", "replace")
    return repr(text[:SHOWN_BYTES])
