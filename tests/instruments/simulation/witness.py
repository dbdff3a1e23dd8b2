"""A copy of the disk's contents: every committed blob, read at its commit.

The broker may send only what a committed event entitles it to. Each write is checked against the
events that are committed at this moment. The uploader's reader later reads the same events as the
session log.
"""

from collections import Counter
from collections.abc import Callable

from gateway.broker.core.records.events import Event, decode
from gateway.broker.wire.decoder import Decoder
from gateway.broker.wire.packets import (
    Connack,
    Packet,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
)
from tests.instruments.simulation.answers import is_refusal
from tests.instruments.simulation.client import Client
from tests.instruments.simulation.ledger import key_of
from tests.instruments.simulation.network import Link
from tests.instruments.simulation.violation import require

RULE = "nothing is said before it is committed"


class Known:
    """The committed state of one client's session."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.filters: set[str] = set()
        """All filters of the session.

        They are never removed, because one batch may subscribe and unsubscribe.
        """
        self.held: dict[int, int] = {}
        self.started: dict[int, int] = {}
        self.received: set[int] = set()


class Witness:
    """Reads every committed batch, and checks that the broker sends nothing before its commit."""

    def __init__(self, client_of: Callable[[Link], Client], count: Callable[[str], None]) -> None:
        self.blobs: list[bytes] = []
        self.keys: dict[int, bytes] = {}
        """The key of the payload, by message number."""
        self.published: Counter[bytes] = Counter()
        self.ended_count = 0
        """The number of ended sessions."""
        self.known: dict[str, Known] = {}
        self._client_of = client_of
        self._count = count
        self._decoders: dict[Link, Decoder] = {}

    def committed(self, blob: bytes) -> None:
        """Read a committed batch."""
        self.blobs.append(blob)
        for event in decode(blob).events:
            self._take(event)

    def _take(self, event: Event) -> None:
        name, client_id = str(event["event"]), str(event.get("client_id"))
        number = event.get("message")
        if name in ("message_held", "message_published"):
            assert isinstance(number, int)
            payload = event["payload"]
            assert isinstance(payload, bytes)
            self.keys[number] = key_of(payload)
            self.published[self.keys[number]] += name == "message_published"
        self.ended_count += name == "session_ended"
        if name == "session_opened":
            session = event["session"]
            assert isinstance(session, int)
            self.known[client_id] = Known(session)
        known = self.known.get(client_id)
        if known is not None and known.number == event.get("session"):
            self._take_of_session(known, name, event, client_id)

    def _take_of_session(self, known: Known, name: str, event: Event, client_id: str) -> None:
        packet_id, number = event.get("packet_id"), event.get("message")
        if name == "session_ended":
            del self.known[client_id]
        elif name == "subscribed":
            known.filters.add(str(event["filter"]))
        elif isinstance(packet_id, int) and isinstance(number, int):
            if name == "message_held":
                known.held[packet_id] = number
            elif name in ("message_released", "message_abandoned"):
                known.held.pop(packet_id, None)
            elif name == "delivery_started":
                known.started[packet_id] = number
            elif name == "delivery_received":
                known.received.add(packet_id)
            elif name == "delivery_completed":
                known.started.pop(packet_id, None)
                known.received.discard(packet_id)

    # -- what the broker sends

    def hear(self, link: Link, data: bytes) -> None:
        """Check bytes that the broker writes to a connection."""
        client = self._client_of(link)
        decoder = self._decoders.get(link)
        if decoder is None:
            decoder = self._decoders[link] = Decoder(1 << 20, client.plan.version, "client")
        for packet in decoder.feed(data):
            self._count(type(packet).__name__.upper() + " sent")
            attempt = client.connecting.attempt
            if attempt is not None and attempt.link is link and attempt.persistent:
                self._check(client, packet)

    def _check(self, client: Client, packet: Packet) -> None:
        known = self.known.get(client.name)
        if isinstance(packet, Connack):
            require(known is not None, RULE, f"{packet!r} to {client.name}: no session")
            return
        if known is None:
            # A session that has ended is checked elsewhere: nothing more may be sent.
            require(
                not isinstance(packet, Pubrec | Suback),
                RULE,
                f"{packet!r} to {client.name}: no session",
            )
            return
        true = True
        if is_refusal(packet):
            return  # a refused message entitles no client to anything
        if isinstance(packet, Pubrec):
            true = packet.packet_id in known.held
        elif isinstance(packet, Pubcomp):
            true = packet.packet_id not in known.held
        elif isinstance(packet, Publish) and packet.qos:
            number = known.started.get(packet.packet_id, 0)
            true = self.keys.get(number) == key_of(packet.payload)
            true = true and packet.packet_id not in known.received
        elif isinstance(packet, Pubrel) and not packet.reason_code:
            true = packet.packet_id in known.received
        elif isinstance(packet, Suback):
            subscribes, topic_filter = client.asked.get(packet.packet_id, (False, ""))
            true = not subscribes or topic_filter in known.filters
        elif isinstance(packet, Puback):
            outgoing = client.outgoing.get(packet.packet_id)
            true = outgoing is None or self.published[outgoing.message.key] > 0
        require(true, RULE, f"{packet!r} to {client.name}, whose session has {_shown(known)}")


def _shown(known: Known) -> str:
    return (
        f"held {known.held}, started {known.started}, received {sorted(known.received)}, "
        f"filters {sorted(known.filters)}"
    )
