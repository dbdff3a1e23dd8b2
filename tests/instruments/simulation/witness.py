"""What the disk holds: every committed blob, read at its commit.

The broker may say only what a committed event entitles it to: checked at each write, against the
events that are committed at that moment. The same events, read later through the uploader's reader,
are the session log.
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
    """What is committed of one client's session."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.filters: set[str] = set()
        """Everything that was ever subscribed to: it may be given up again in the same batch."""
        self.held: dict[int, int] = {}
        self.started: dict[int, int] = {}
        self.received: set[int] = set()


class Witness:
    """Follows the commits."""

    def __init__(self, client_of: Callable[[Link], Client], count: Callable[[str], None]) -> None:
        self.blobs: list[bytes] = []
        self.keys: dict[int, bytes] = {}
        """The payload's key of each message number."""
        self.published: Counter[bytes] = Counter()
        self.ended_count = 0
        """Sessions that have ended."""
        self.known: dict[str, Known] = {}
        self._client_of = client_of
        self._count = count
        self._decoders: dict[Link, Decoder] = {}

    def committed(self, blob: bytes) -> None:
        """A batch is on disk."""
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

    # -- what is said

    def hear(self, link: Link, data: bytes) -> None:
        """The broker writes to a connection."""
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
            # A session that has ended since is a matter of its own: nothing more may be said.
            require(
                not isinstance(packet, Pubrec | Suback),
                RULE,
                f"{packet!r} to {client.name}: no session",
            )
            return
        true = True
        if is_refusal(packet):
            return  # that a message is refused entitles no client to anything
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
