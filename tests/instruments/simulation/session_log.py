"""The session log compared with what clients saw: each message step by step, without a gap."""

from collections import Counter, defaultdict
from collections.abc import Mapping

from gateway.broker.core.records.events import Event, JournalBatch
from tests.instruments.simulation.client import Client
from tests.instruments.simulation.ledger import Ledger, key_of
from tests.instruments.simulation.violation import require

RULE = "the session log agrees with what the clients saw"


class SessionLog:
    """The exported log, read batch by batch."""

    def __init__(self) -> None:
        self.last_sequence = 0
        self.counts: Counter[str] = Counter()
        self.keys: dict[int, bytes] = {}
        self.owners: dict[int, str] = {}
        """The client of each session, by session number."""
        self.ended: set[int] = set()
        self.ended_counts: Counter[str] = Counter()
        """The number of ended sessions, by client."""
        self.left_behind: set[tuple[str, bytes]] = set()
        """QoS 2 messages that were in flight to a client when its session ended."""
        self.held: dict[tuple[int, int], int] = {}
        self.released: Counter[bytes] = Counter()
        self.published: Counter[bytes] = Counter()
        self.outbound: dict[int, dict[int, tuple[int, bool]]] = defaultdict(dict)
        """In flight, by session and packet identifier: the message, and whether PUBREC arrived."""
        self.started: dict[str, Counter[tuple[bytes, int]]] = defaultdict(Counter)
        """Messages and their QoS, by client."""
        self.completed: dict[str, Counter[tuple[bytes, int]]] = defaultdict(Counter)
        self.dropped: dict[tuple[str, bytes], str] = {}
        self.dropped_here: set[tuple[str, bytes]] = set()
        """Messages that were dropped for clients that were connected and reading."""
        self._reading: set[int] = set()
        """Sessions with a completed delivery since their clients connected."""
        self._qos: dict[tuple[int, int], int] = {}
        self._batch = 0
        """The first event of the batch that is being read."""
        self._routed: dict[int, int] = {}
        """The batch in which a message was routed to its receivers."""
        self._receivers: set[tuple[int, int]] = set()
        """Sessions and the messages that were routed to them."""
        self._retained: set[int] = set()

    def take(self, batch: JournalBatch) -> None:
        """Read the new events of a batch."""
        require(
            batch.first_sequence <= self.last_sequence + 1,
            "the session log has no gap",
            f"event {batch.first_sequence} follows event {self.last_sequence}",
        )
        self._batch = batch.first_sequence
        for event in batch.events[self.last_sequence + 1 - batch.first_sequence :]:
            self.last_sequence += 1
            self._take(event)

    def _take(self, event: Event) -> None:
        name = str(event["event"])
        self.counts[name] += 1
        if name in {"session_resumed", "session_opened"}:
            self.owners[_number(event, "session")] = str(event["client_id"])
        elif name == "session_ended":
            self._take_end(event)
        elif name in ("session_closed", "will_cleared"):
            self.counts[f"{name}: {_text(event, 'reason')}"] += 1
            if name == "session_closed":
                self._reading.discard(_number(event, "session"))
        elif name == "delivery_resent":
            self.counts[f"{name}: {_text(event, 'packet')}"] += 1
            self._check_resent(event)
        elif name.startswith("message_"):
            self._take_message(name, event)
        elif name.startswith("delivery_"):
            self._take_delivery(name, event)

    def _take_end(self, event: Event) -> None:
        session = _number(event, "session")
        client = self.owners[session]
        self.ended.add(session)
        self.ended_counts[client] += 1
        self.counts[f"session_ended: {_text(event, 'reason')}"] += 1
        for packet_id, (message, _) in self.outbound[session].items():
            if self._qos[session, packet_id] == 2:
                self.left_behind.add((client, self.keys[message]))

    def _take_message(self, name: str, event: Event) -> None:
        message = _number(event, "message")
        if name in ("message_held", "message_published"):
            payload = event["payload"]
            assert isinstance(payload, bytes)
            self._require(message not in self.keys, event, "its number was used before")
            self.keys[message] = key_of(payload)
            if event["retain"]:
                self._retained.add(message)
        key = self.keys.get(message, b"")
        self._require(bool(key), event, "its contents were never reported")
        session = _number(event, "session")
        slot = (session, event["packet_id"]) if "packet_id" in event else None
        if name == "message_held":
            assert slot is not None
            assert isinstance(slot[1], int)
            self._require(slot not in self.held, event, "the identifier is in use")
            self.held[session, slot[1]] = message
        elif name == "message_released":
            assert slot is not None
            assert isinstance(slot[1], int)
            self._require(self.held.pop((session, slot[1]), 0) == message, event, "not held")
            self.released[key] += 1
        elif name == "message_published":
            # A copy for another member of a group is not a second message.
            self.published[key] += event["origin"] != "gateway"
            self.counts["handed over by a clean session"] += event["origin"] == "gateway"
        elif name == "message_dropped":
            self.counts[f"message_dropped: {_text(event, 'reason')}"] += 1
            self.dropped[self.owners[session], key] = str(event["reason"])
            if session in self._reading:
                self.dropped_here.add((self.owners[session], key))
        elif name == "message_queued":
            self._count_receiver(session, message)

    def _take_delivery(self, name: str, event: Event) -> None:
        session, message = _number(event, "session"), _number(event, "message")
        packet_id = _number(event, "packet_id")
        flight, key = self.outbound[session], self.keys.get(message, b"")
        client = self.owners[session]
        if name == "delivery_started":
            self._require(packet_id not in flight, event, "the identifier is in use")
            self._require(bool(key), event, "its contents were never reported")
            flight[packet_id] = (message, False)
            self._count_receiver(session, message)
            self._qos[session, packet_id] = _number(event, "qos")
            self.started[client][key, _number(event, "qos")] += 1
        elif packet_id:
            self._require(flight.get(packet_id, (0,))[0] == message, event, "not in flight")
            if name == "delivery_received":
                flight[packet_id] = (message, True)
            else:
                del flight[packet_id]
                self._reading.add(session)
                self.completed[client][key, self._qos[session, packet_id]] += 1

    def _count_receiver(self, session: int, message: int) -> None:
        """Count a message that moves from one member of a group to another, in a later batch."""
        if (session, message) not in self._receivers:
            self._receivers.add((session, message))
            routed = self._routed.setdefault(message, self._batch)
            if routed != self._batch and message not in self._retained:
                self.counts["handed over to another member of a group"] += 1

    def _check_resent(self, event: Event) -> None:
        flight = self.outbound[_number(event, "session")]
        resent = flight.get(_number(event, "packet_id"), (0, False))
        self._require(
            resent == (_number(event, "message"), event["packet"] == "pubrel"),
            event,
            f"in flight: {resent}",
        )

    def _require(self, holds: bool, event: Event, why: str) -> None:
        require(holds, RULE, f"event {self.last_sequence}, {event}: {why}")

    # -- at the end of a run

    def check(self, clients: Mapping[str, Client], ledger: Ledger) -> None:
        """Compare the log with what publishers and subscribers know, at the end of a run."""
        for session, flight in self.outbound.items():
            require(
                not flight or session in self.ended,
                RULE,
                f"session {session} of {self.owners[session]} has {flight} in flight",
            )
        for client in clients.values():
            if client.plan.persistent:
                self._check_subscriber(client)
        for message in ledger.messages.values():
            if message.is_will or message.acknowledged is None or message.temporary:
                continue
            if message.qos == 2:
                count = self.released[message.key] + self.published[message.key]
                require(count == 1, RULE, f"{message.key!r} was released {count} times")
            elif message.qos == 1:
                count = self.published[message.key]
                require(
                    1 <= count <= message.sent_count,
                    RULE,
                    f"{message.key!r} was published {count} times, sent {message.sent_count} times",
                )

    def _check_subscriber(self, client: Client) -> None:
        saw: Counter[tuple[bytes, int]] = Counter()
        for key, sightings in client.sightings.seen.items():
            for sighting in sightings:
                saw[key, sighting.qos] += 1
        for (key, qos), count in self.completed[client.name].items():
            copies = client.sightings.retained_copies[key]
            require(
                count <= saw[key, qos] + copies,
                RULE,
                f"{client.name} completed {key!r} at QoS {qos} {count} times, saw it "
                f"{saw[key, qos]} times and {copies} times retained",
            )


def _number(event: Event, field: str) -> int:
    value = event[field]
    assert isinstance(value, int), f"{field} of {event}"
    return value


def _text(event: Event, field: str) -> str:
    value = event[field]
    assert isinstance(value, str), f"{field} of {event}"
    return value
