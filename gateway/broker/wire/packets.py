"""MQTT packets as plain objects. ``packet.kind`` is the packet type in the standard, 1 to 15.

A decoded packet consists of validated fields. A Publish also contains the received bytes if they
can be forwarded unchanged. ``properties`` exist in MQTT 5.0 only. The ``repr`` of a packet never
shows secrets.
"""

from mypy_extensions import mypyc_attr

from gateway.broker.wire.kinds import (
    AUTH,
    CONNACK,
    CONNECT,
    DISCONNECT,
    PINGREQ,
    PINGRESP,
    PUBACK,
    PUBCOMP,
    PUBLISH,
    PUBREC,
    PUBREL,
)
from gateway.broker.wire.properties import Properties
from gateway.broker.wire.subscription_packets import (
    Suback,
    Subscribe,
    Subscription,
    Unsuback,
    Unsubscribe,
)
from gateway.broker.wire.values import Packet, Value, topic_field_of

__all__ = [
    "Acknowledgement",
    "Auth",
    "Connack",
    "Connect",
    "Disconnect",
    "Packet",
    "Pingreq",
    "Pingresp",
    "Properties",
    "Puback",
    "Pubcomp",
    "Publish",
    "Pubrec",
    "Pubrel",
    "Suback",
    "Subscribe",
    "Subscription",
    "Unsuback",
    "Unsubscribe",
    "Will",
    "topic_field_of",
]


@mypyc_attr(acyclic=True)
class Will(Value):
    def __init__(
        self,
        topic: str,
        payload: bytes,
        qos: int,
        retain: bool,
        properties: Properties | None = None,
    ) -> None:
        self.topic = topic
        self.payload = payload
        self.qos = qos
        self.retain = retain
        self.properties = properties

    def fields(self) -> list[tuple[str, object]]:
        return [
            ("topic", self.topic),
            ("payload", self.payload),
            ("qos", self.qos),
            ("retain", self.retain),
            ("properties", self.properties),
        ]


@mypyc_attr(acyclic=True)
class Connect(Packet):
    """A CONNECT packet. In MQTT 3.1 and 3.1.1, `clean_start` is the clean session flag."""

    kind: int = CONNECT

    def __init__(  # noqa: PLR0917 - in the order of the wire
        self,
        protocol_level: int,
        client_id: str,
        clean_start: bool,
        keep_alive_seconds: int,
        will: Will | None,
        username: str | None,
        password: bytes | None,
        properties: Properties | None = None,
    ) -> None:
        self.protocol_level = protocol_level
        self.client_id = client_id
        self.clean_start = clean_start
        self.keep_alive_seconds = keep_alive_seconds
        self.will = will
        self.username = username
        self.password = password
        self.properties = properties

    def fields(self) -> list[tuple[str, object]]:
        return [
            ("protocol_level", self.protocol_level),
            ("client_id", self.client_id),
            ("clean_start", self.clean_start),
            ("keep_alive_seconds", self.keep_alive_seconds),
            ("will", self.will),
            ("username", self.username),
            ("password", self.password),
            ("properties", self.properties),
        ]


@mypyc_attr(acyclic=True)
class Connack(Packet):
    """A CONNACK packet. In MQTT 3.1 and 3.1.1, `reason_code` is the return code."""

    kind: int = CONNACK

    def __init__(
        self, session_present: bool, reason_code: int, properties: Properties | None = None
    ) -> None:
        self.session_present = session_present
        self.reason_code = reason_code
        self.properties = properties

    def fields(self) -> list[tuple[str, object]]:
        return [
            ("session_present", self.session_present),
            ("reason_code", self.reason_code),
            ("properties", self.properties),
        ]


@mypyc_attr(acyclic=True)
class Publish(Packet):
    """A PUBLISH packet. `packet_id` is 0 for QoS 0. `topic_field` is the encoded topic.

    In a packet received at QoS 0, `frame` contains the packet's bytes, so that they can be
    forwarded unchanged. At QoS 1 and 2, `frame` is empty.
    """

    kind: int = PUBLISH

    def __init__(  # noqa: PLR0917 - hot: keywords cost
        self,
        topic: str,
        payload: bytes,
        qos: int,
        retain: bool,
        dup: bool,
        packet_id: int,
        properties: Properties | None = None,
        topic_field: bytes | None = None,
        frame: bytes = b"",
    ) -> None:
        self.topic = topic
        self.payload = payload
        self.qos = qos
        self.retain = retain
        self.dup = dup
        self.packet_id = packet_id
        self.properties = properties
        self.topic_field: bytes = topic_field_of(topic) if topic_field is None else topic_field
        self.frame = frame

    def fields(self) -> list[tuple[str, object]]:
        return [
            ("topic", self.topic),
            ("payload", self.payload),
            ("qos", self.qos),
            ("retain", self.retain),
            ("dup", self.dup),
            ("packet_id", self.packet_id),
            ("properties", self.properties),
        ]


@mypyc_attr(acyclic=True)
class Acknowledgement(Packet):
    """Base class of PUBACK, PUBREC, PUBREL and PUBCOMP packets."""

    def __init__(
        self, packet_id: int, reason_code: int = 0, properties: Properties | None = None
    ) -> None:
        self.packet_id = packet_id
        self.reason_code = reason_code
        self.properties = properties

    def fields(self) -> list[tuple[str, object]]:
        return [
            ("packet_id", self.packet_id),
            ("reason_code", self.reason_code),
            ("properties", self.properties),
        ]


@mypyc_attr(acyclic=True)
class Puback(Acknowledgement):
    kind: int = PUBACK


@mypyc_attr(acyclic=True)
class Pubrec(Acknowledgement):
    kind: int = PUBREC


@mypyc_attr(acyclic=True)
class Pubrel(Acknowledgement):
    kind: int = PUBREL


@mypyc_attr(acyclic=True)
class Pubcomp(Acknowledgement):
    kind: int = PUBCOMP


@mypyc_attr(acyclic=True)
class Pingreq(Packet):
    kind: int = PINGREQ

    def fields(self) -> list[tuple[str, object]]:
        return []


@mypyc_attr(acyclic=True)
class Pingresp(Packet):
    kind: int = PINGRESP

    def fields(self) -> list[tuple[str, object]]:
        return []


@mypyc_attr(acyclic=True)
class Disconnect(Packet):
    kind: int = DISCONNECT

    def __init__(self, reason_code: int = 0, properties: Properties | None = None) -> None:
        self.reason_code = reason_code
        self.properties = properties

    def fields(self) -> list[tuple[str, object]]:
        return [("reason_code", self.reason_code), ("properties", self.properties)]


@mypyc_attr(acyclic=True)
class Auth(Packet):
    """An AUTH packet, which exists in MQTT 5.0 only."""

    kind: int = AUTH

    def __init__(self, reason_code: int, properties: Properties | None = None) -> None:
        self.reason_code = reason_code
        self.properties = properties

    def fields(self) -> list[tuple[str, object]]:
        return [("reason_code", self.reason_code), ("properties", self.properties)]
