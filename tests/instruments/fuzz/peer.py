"""A client that tracks what it sent, what it received, and what the broker must keep.

It decodes both directions by itself, and knows only the bytes and when a connection is closed. It
raises if the broker contradicts the standard or itself.
"""

from collections import deque

from gateway.broker.core.sessions.connection import Connection, ConnectionState
from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.malformed import UNSUPPORTED_PROTOCOL
from gateway.broker.wire.packets import (
    Acknowledgement,
    Auth,
    Connack,
    Connect,
    Disconnect,
    Packet,
    Pingreq,
    Pingresp,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
    Subscribe,
    Unsuback,
    Unsubscribe,
)
from tests.broker.core.harness import Client, Harness

PACKET_SIZE_MAX_BYTES = 268_435_460


class Peer(Client):
    """The client's end of a connection."""

    def __init__(self, harness: Harness, connection: Connection, version: int) -> None:
        super().__init__(harness, connection, version)
        self.said = Decoder(harness.limits.max_packet_size_bytes)
        self.connect: Connect | None = None
        self.connack_released = False
        self.was_disconnected = False
        self.gone = False
        """The broker has closed the connection, and everything it sent has been received."""
        self.obeys = harness.limits.retry_interval_seconds is None
        """The peer has only acknowledged packets that it received, and once each, so its records
        can be trusted. This starts as False if the broker resends by the clock, because a resent
        packet may cross an acknowledgement.
        """
        self.aliases: dict[int, str] = {}
        # Responses that the peer waits for, in their required order.
        self.pubacks: deque[int] = deque()
        self.pubrecs: deque[tuple[int, bool]] = deque()
        """Packet identifiers, and whether the broker accepts the message."""
        self.grants: deque[tuple[type[Packet], int, list[str]]] = deque()
        self.pings = 0
        # What the peer has received, which must be unchanged after a power cut.
        self.held: set[int] = set()
        """QoS 2 messages acknowledged with PUBREC and not yet released."""
        self.in_flight: dict[int, int] = {}
        """Deliveries by packet identifier: their QoS, or 0 after PUBREL."""
        self.window: set[int] = set()
        """Packet identifiers of those deliveries that arrived as a PUBLISH on this connection."""
        self.subscribed: set[str] = set()
        self.given_up: set[str] = set()

    # -- sending

    def send_bytes(self, data: bytes) -> None:
        """Send bytes to the broker, and record their packets."""
        if not self.closed:
            for packet in self.said.feed(data):
                self._note(packet)
            super().send_bytes(data)

    def _note(self, packet: Packet) -> None:
        if isinstance(packet, Connect):
            self.connect = packet
        elif isinstance(packet, Publish):
            self._note_publish(packet)
        elif isinstance(packet, Subscribe):
            filters = [wanted.topic_filter for wanted in packet.subscriptions]
            self.grants.append((Suback, packet.packet_id, filters))
        elif isinstance(packet, Unsubscribe):
            self.grants.append((Unsuback, packet.packet_id, packet.topic_filters))
            self.given_up.update(packet.topic_filters)
        elif isinstance(packet, Pingreq):
            self.pings += 1
        elif isinstance(packet, Acknowledgement):
            self._note_acknowledgement(packet)

    def _note_publish(self, packet: Publish) -> None:
        if packet.qos == 1:
            self.pubacks.append(packet.packet_id)
        elif packet.qos == 2:
            # Before 5.0 a refusal looks like any PUBREC: messages of clients to $SYS are dropped.
            self.pubrecs.append((packet.packet_id, not packet.topic.startswith("$SYS")))

    def _note_acknowledgement(self, packet: Acknowledgement) -> None:
        packet_id = packet.packet_id
        if isinstance(packet, Pubrel):
            self.obeys &= packet_id not in [waiting for waiting, _ in self.pubrecs]
            self.held.discard(packet_id)
            return
        step = self.in_flight.get(packet_id)
        if isinstance(packet, Pubrec):
            self.obeys &= step == 2
        else:
            self.obeys &= step == (1 if isinstance(packet, Puback) else 0)
        if not isinstance(packet, Pubrec) or packet.reason_code >= 0x80:
            self.in_flight.pop(packet_id, None)
            self.window.discard(packet_id)

    # -- receiving

    def hear(self, data: bytes) -> None:
        """Check bytes from the broker."""
        assert not self.gone, f"{data!r} behind the end of the connection"
        if not self.connack_released:
            # The version is known only now. An invalid CONNECT is answered in the version that it
            # names, or as 3.1.1 if it names none.
            error = self.said.error
            is_spoken = error is not None and error.reason != UNSUPPORTED_PROTOCOL
            named = error.protocol_level if error is not None and is_spoken else 0
            self.version = self.said.version or named or 4
            self.decoder = Decoder(PACKET_SIZE_MAX_BYTES, self.version, "client")
        for packet in self._decoded(data):
            self._hear(packet)
            self.received.append(packet)

    def _decoded(self, data: bytes) -> list[Packet]:
        packets = self.decoder.feed(data)
        assert self.decoder.error is None, f"{self.decoder.error!r} in {data.hex(' ')}"
        assert not self.decoder._partial, f"half a packet in {data.hex(' ')}"
        largest = self._most(PACKET_SIZE_MAX_BYTES, "maximum_packet_size_bytes")
        if len(data) > largest:
            # [MQTT5-3.1.2-24] one by one: a decoder with this limit reports which packet is too
            # large
            limited = Decoder(largest, self.version, "client")
            limited.feed(data)
            assert limited.error is None, f"{limited.error!r} for a client that takes {largest}"
        return packets

    def _most(self, otherwise: int, name: str) -> int:
        """Return the value of a property of CONNECT, or `otherwise`."""
        properties = None if self.connect is None else self.connect.properties
        value = None if properties is None else getattr(properties, name)
        return otherwise if value is None else int(value)

    def _hear(self, packet: Packet) -> None:
        assert not self.was_disconnected, f"{packet!r} behind DISCONNECT"
        if isinstance(packet, Connack):
            assert not self.connack_released, "a second CONNACK"
            self.connack_released = True
            self.was_disconnected = packet.reason_code != 0
            return
        # [MQTT-3.2.0-1]
        assert self.connack_released or isinstance(packet, Auth), f"{packet!r} before CONNACK"
        if isinstance(packet, Publish):
            self._hear_publish(packet)
        elif isinstance(packet, Acknowledgement):
            self._hear_acknowledgement(packet)
        elif isinstance(packet, Suback | Unsuback):
            self._hear_grant(packet)
        elif isinstance(packet, Pingresp):
            self.pings -= 1
            assert self.pings >= 0, "PINGRESP to nothing"
        else:
            assert isinstance(packet, Disconnect | Auth), f"{packet!r} from a server"
            self.was_disconnected = isinstance(packet, Disconnect)

    def _hear_publish(self, packet: Publish) -> None:
        alias = None if packet.properties is None else packet.properties.topic_alias
        if alias is not None:
            assert alias <= self._most(0, "topic_alias_maximum"), f"alias {alias}"
            if packet.topic:
                self.aliases[alias] = packet.topic
            assert alias in self.aliases, f"alias {alias} stands for nothing"
        if not packet.qos or not self.obeys:
            return
        known = packet.packet_id in self.in_flight
        # [MQTT-2.3.1-2], [MQTT-3.3.1-1]
        assert not known or packet.dup, f"{packet!r} under an identifier that is in flight"
        assert not known or self.version < 5, f"{packet!r} resent to a client that is there"
        self.in_flight[packet.packet_id] = packet.qos
        self.window.add(packet.packet_id)
        # [MQTT5-3.3.4-9]
        window = self._most(65_535, "receive_maximum")
        assert len(self.window) <= window, f"{len(self.window)} in flight, {window} allowed"

    def _hear_acknowledgement(self, packet: Acknowledgement) -> None:
        packet_id = packet.packet_id
        if isinstance(packet, Puback):
            # [MQTT-4.6.0-2] and [MQTT-4.6.0-3]: in the order in which the messages arrived
            assert self.pubacks.popleft() == packet_id, f"{packet!r} out of turn"
        elif isinstance(packet, Pubrec):
            expected, is_taken = self.pubrecs.popleft()
            assert expected == packet_id, f"{packet!r} out of turn"
            if packet.reason_code < 0x80 and is_taken:
                self.held.add(packet_id)
        elif isinstance(packet, Pubrel) and self.obeys:
            self.in_flight[packet_id] = 0
        else:
            assert isinstance(packet, Pubcomp | Pubrel), f"{packet!r} from a server"

    def _hear_grant(self, packet: Suback | Unsuback) -> None:
        kind, packet_id, filters = self.grants.popleft()
        assert (type(packet), packet.packet_id) == (kind, packet_id), f"{packet!r} out of turn"
        if isinstance(packet, Suback) or self.version == 5:
            assert len(packet.reason_codes) == len(filters), f"{packet!r} to {filters}"
        if isinstance(packet, Suback):
            codes = packet.reason_codes
            self.subscribed |= {name for name, code in zip(filters, codes, strict=True) if code < 3}

    # -- promises of the broker

    @property
    def is_connected(self) -> bool:
        """True if the broker has accepted the client."""
        return self.connection.state is ConnectionState.CONNECTED

    @property
    def session_is_persistent(self) -> bool:
        """True if the session must survive a power cut."""
        session = self.connection.session
        return session is not None and session.persistent

    def waits_for_nothing(self) -> bool:
        """Return True if every request has been answered."""
        return not (self.pubacks or self.pubrecs or self.grants or self.pings)
