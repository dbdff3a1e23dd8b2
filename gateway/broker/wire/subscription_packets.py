"""The packets SUBSCRIBE and UNSUBSCRIBE and their acknowledgements.

Other packages import these packets from `wire.packets`.
"""

from mypy_extensions import mypyc_attr

from gateway.broker.wire.kinds import SUBACK, SUBSCRIBE, UNSUBACK, UNSUBSCRIBE
from gateway.broker.wire.properties import Properties
from gateway.broker.wire.values import Packet, Value


@mypyc_attr(acyclic=True)
class Subscription(Value):
    """A topic filter in a SUBSCRIBE, with its options. MQTT 3 has only the option QoS."""

    def __init__(
        self,
        topic_filter: str,
        qos: int,
        no_local: bool = False,
        retain_as_published: bool = False,
        retain_handling: int = 0,
    ) -> None:
        self.topic_filter = topic_filter
        self.qos = qos
        self.no_local = no_local
        self.retain_as_published = retain_as_published
        self.retain_handling = retain_handling

    def fields(self) -> list[tuple[str, object]]:
        return [
            ("topic_filter", self.topic_filter),
            ("qos", self.qos),
            ("no_local", self.no_local),
            ("retain_as_published", self.retain_as_published),
            ("retain_handling", self.retain_handling),
        ]


@mypyc_attr(acyclic=True)
class Subscribe(Packet):
    kind: int = SUBSCRIBE

    def __init__(
        self,
        packet_id: int,
        subscriptions: list[Subscription],
        properties: Properties | None = None,
    ) -> None:
        self.packet_id = packet_id
        self.subscriptions = subscriptions
        self.properties = properties

    def fields(self) -> list[tuple[str, object]]:
        return [
            ("packet_id", self.packet_id),
            ("subscriptions", self.subscriptions),
            ("properties", self.properties),
        ]


@mypyc_attr(acyclic=True)
class Suback(Packet):
    """A SUBACK packet with one reason code for each subscription.

    In MQTT 3.1.1, the only failure code is 0x80.
    """

    kind: int = SUBACK

    def __init__(
        self, packet_id: int, reason_codes: list[int], properties: Properties | None = None
    ) -> None:
        self.packet_id = packet_id
        self.reason_codes = reason_codes
        self.properties = properties

    def fields(self) -> list[tuple[str, object]]:
        return [
            ("packet_id", self.packet_id),
            ("reason_codes", self.reason_codes),
            ("properties", self.properties),
        ]


@mypyc_attr(acyclic=True)
class Unsubscribe(Packet):
    kind: int = UNSUBSCRIBE

    def __init__(
        self, packet_id: int, topic_filters: list[str], properties: Properties | None = None
    ) -> None:
        self.packet_id = packet_id
        self.topic_filters = topic_filters
        self.properties = properties

    def fields(self) -> list[tuple[str, object]]:
        return [
            ("packet_id", self.packet_id),
            ("topic_filters", self.topic_filters),
            ("properties", self.properties),
        ]


@mypyc_attr(acyclic=True)
class Unsuback(Packet):
    """An UNSUBACK packet. In MQTT 3.1 and 3.1.1 it has no payload, so `reason_codes` is empty."""

    kind: int = UNSUBACK

    def __init__(
        self, packet_id: int, reason_codes: list[int], properties: Properties | None = None
    ) -> None:
        self.packet_id = packet_id
        self.reason_codes = reason_codes
        self.properties = properties

    def fields(self) -> list[tuple[str, object]]:
        return [
            ("packet_id", self.packet_id),
            ("reason_codes", self.reason_codes),
            ("properties", self.properties),
        ]
