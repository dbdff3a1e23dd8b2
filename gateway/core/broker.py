"""The broker's rules behind one door: stimuli in, facts and bytes out.

The shell calls a method for everything that happens, with the time. Afterwards it takes what there
is to do: `take_dirty` (bytes to write now), `seal` (a batch to commit) and then `committed`,
`page_requests`, `authentication_requests`, `next_due`.
"""

from typing import Final, cast

from gateway.core.connecting import (
    RESTART,
    SERVER_UNAVAILABLE,
    UNACCEPTABLE_PROTOCOL,
    AuthenticationRequest,
    Connecting,
)
from gateway.core.delivering import Deliverer, PageRequest
from gateway.core.facts import CLOSE_REASONS, END_REASONS
from gateway.core.limits import SLOW_READER_SECONDS, Limits
from gateway.core.output import Output, Withheld
from gateway.core.publishing import Publisher
from gateway.core.recorder import Recorder
from gateway.core.retained_replay import RetainedReplay
from gateway.core.session import (
    AUTHENTICATING,
    AWAITING_CONNECT,
    CLOSED,
    CONNECTED,
    Connection,
    Delivery,
    Message,
    Session,
)
from gateway.core.state import State
from gateway.core.statistics import Statistics
from gateway.core.subscribing import Subscribing
from gateway.core.timers import (
    AWAIT_REL,
    CONNECT_TIMEOUT,
    KEEP_ALIVE,
    RETAINED,
    RETRY,
    SESSION_EXPIRY,
    SLOW_READER,
    Timer,
    Timers,
)
from gateway.wire import kinds
from gateway.wire.decoder import Decoder
from gateway.wire.encoder import PINGRESP
from gateway.wire.malformed import UNSUPPORTED_PROTOCOL
from gateway.wire.packets import (
    Connect,
    Packet,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Subscribe,
    Unsubscribe,
)

KEEP_ALIVE_ENDED: Final = CLOSE_REASONS.index("keep_alive")
SLOW: Final = CLOSE_REASONS.index("slow")
PROTOCOL_ERROR: Final = CLOSE_REASONS.index("protocol_error")
DROPPED: Final = END_REASONS.index("dropped")
CONNECTIONS_TOLD_NO_MAX: Final = 64
"""Connections beyond `max_connections` that are kept until CONNECT can be answered with 0x03."""
TIMERS_PER_WAKE_MAX: Final = 1_000
"""Timers handled before sockets get their turn again."""


class Batch:
    """What was collected: a blob to commit (None: nothing new) and what to say afterwards."""

    def __init__(self, number: int, blob: bytes | None, withheld: list[Withheld]) -> None:
        self.number = number
        self.blob = blob
        self.withheld = withheld


class Broker:
    """MQTT 3.1 and 3.1.1, without a clock or a socket."""

    def __init__(
        self, state: State, recorder: Recorder, limits: Limits, authenticates: bool
    ) -> None:
        self.state = state
        self.recorder = recorder
        self.limits = limits
        self.statistics = Statistics()
        self.timers = Timers()
        self.output = Output(recorder)
        self.deliverer = Deliverer(recorder, self.output, limits, self.statistics)
        self.publisher = Publisher(
            state, recorder, self.output, self.deliverer, limits, self.statistics
        )
        self.retained_replay = RetainedReplay(state, self.deliverer, limits, self.timers)
        self.subscribing = Subscribing(
            state, recorder, self.output, self.retained_replay, limits, self.statistics
        )
        self.connecting = Connecting(
            state,
            recorder,
            self.output,
            self.deliverer,
            self.publisher,
            limits,
            self.statistics,
            self.timers,
            authenticates,
        )

    # -- the broker's own life

    def start(
        self, recovery: str, version: str, previous_boot: str, now: float, time_ms: int
    ) -> None:
        """Take up what the run before left: connections that ended with it, and their wills."""
        self.connecting.time_ms = time_ms
        self.recorder.broker_started(recovery, version, previous_boot)
        for session in list(self.state.sessions.values()):
            if not session.closed_ms:
                self.recorder.session_closed(session, RESTART, time_ms)
            session.away_since = now - max(0.0, (time_ms - session.closed_ms) / 1000)
            self.connecting.schedule_expiry(session, now)
        for session in list(self.state.wills.values()):
            self.publisher.publish_will(session, now)

    def stop(self, now: float, time_ms: int) -> None:
        """Write down that the broker stopped; connections have been ended before."""
        self.connecting.time_ms = time_ms
        self.recorder.broker_stopped()

    # -- stimuli

    def accept(self, address: str, anonymous: bool, now: float) -> Connection:
        """A connection was made. It may come back closing: there are too many."""
        decoder = Decoder(self.limits.max_packet_size_bytes)
        connection = Connection(address, decoder, anonymous, now)
        statistics = self.statistics
        statistics.connections_accepted += 1
        statistics.connections_open += 1
        if statistics.connections_open > self.limits.max_connections + CONNECTIONS_TOLD_NO_MAX:
            statistics.count_error("max_connections")
            self.connecting.end(connection, PROTOCOL_ERROR, now)
        else:
            due = now + self.limits.connect_timeout_seconds
            self.timers.add(due, Timer(CONNECT_TIMEOUT, connection, None))
        return connection

    def receive(self, connection: Connection, data: bytes, now: float) -> None:
        """Bytes arrived."""
        if connection.state == CLOSED:
            return
        connection.last_received = now
        self._handle(connection, connection.decoder.feed(data), now)

    def _handle(self, connection: Connection, packets: list[Packet], now: float) -> None:
        for index in range(len(packets)):
            if connection.state == AUTHENTICATING:
                connection.undecided.extend(packets[index:])
                return
            error = self._receive_packet(connection, packets[index], now)
            if error is not None:
                self._protocol_error(connection, "protocol_violation", error, now)
            if connection.state == CLOSED:
                return
        malformed = connection.decoder.error
        if malformed is not None and connection.state != AUTHENTICATING:
            if malformed.reason == UNSUPPORTED_PROTOCOL:
                # [MQTT-3.1.2-2]
                self.connecting.refuse(
                    connection, UNACCEPTABLE_PROTOCOL, "unsupported_protocol", now
                )
            else:
                self._protocol_error(connection, malformed.reason, malformed.detail, now)

    def _receive_packet(self, connection: Connection, packet: Packet, now: float) -> str | None:
        """Handle one packet; return what was wrong with it in this state."""
        kind = packet.kind
        session = connection.session
        if session is None or kind == kinds.CONNECT:
            return self._receive_first(connection, packet, now)
        if kind == kinds.PUBLISH:
            publish = cast(Publish, packet)
            if publish.topic.count("/") >= self.limits.max_topic_levels:
                return f"more than max_topic_levels = {self.limits.max_topic_levels} topic levels"
            return self.publisher.receive_publish(session, connection, publish, now)
        if kind == kinds.PUBREL:
            packet_id = cast(Pubrel, packet).packet_id
            self.publisher.receive_pubrel(session, connection, packet_id, now)
            return None
        if kind == kinds.PUBACK:
            return self.deliverer.receive_puback(session, cast(Puback, packet).packet_id, now)
        if kind == kinds.PUBREC:
            packet_id = cast(Pubrec, packet).packet_id
            return self.deliverer.receive_pubrec(session, connection, packet_id, now)
        if kind == kinds.PUBCOMP:
            return self.deliverer.receive_pubcomp(session, cast(Pubcomp, packet).packet_id, now)
        return self._receive_rare(session, connection, packet, now)

    def _receive_rare(
        self, session: Session, connection: Connection, packet: Packet, now: float
    ) -> str | None:
        kind = packet.kind
        if kind == kinds.PINGREQ:
            self.output.send_at_once(connection, PINGRESP)  # [MQTT-3.12.4-1]
        elif kind == kinds.SUBSCRIBE:
            self.subscribing.receive_subscribe(session, connection, cast(Subscribe, packet), now)
        elif kind == kinds.UNSUBSCRIBE:
            self.subscribing.receive_unsubscribe(session, connection, cast(Unsubscribe, packet))
        elif kind == kinds.DISCONNECT:
            self.connecting.receive_disconnect(connection, now)
        else:
            return f"{kinds.KIND_NAMES[kind]} is not a packet a client sends"
        return None

    def _receive_first(self, connection: Connection, packet: Packet, now: float) -> str | None:
        if packet.kind != kinds.CONNECT:
            # [MQTT-3.1.0-1]
            return f"{kinds.KIND_NAMES[packet.kind]} before CONNECT"
        if connection.state != AWAITING_CONNECT:
            return "a second CONNECT on one connection"  # [MQTT-3.1.0-2]
        if self.statistics.connections_open > self.limits.max_connections:
            self.connecting.refuse(connection, SERVER_UNAVAILABLE, "max_connections", now)
            return None
        self.connecting.receive_connect(connection, cast(Connect, packet), now)
        return None

    def _protocol_error(self, connection: Connection, reason: str, detail: str, now: float) -> None:
        """Close [MQTT-4.8.0-1]; the will goes out, as with every unclean end."""
        self.statistics.count_error(reason)
        session = connection.session
        name = connection.address
        if session is not None:
            name = f"client {session.client_id!r} from {name}"
            self.recorder.observed(session, "protocol_error", reason, detail)
        self.statistics.note(f"{name} disconnected: {reason}: {detail}")
        self.connecting.end(connection, PROTOCOL_ERROR, now)

    def lose(self, connection: Connection, reason: str, now: float) -> None:
        """The network connection is gone, or the shell ends it, for a reason of CLOSE_REASONS."""
        self.connecting.end(connection, CLOSE_REASONS.index(reason), now)

    def authenticated(self, connection: Connection, accepted: bool, now: float) -> None:
        """The password of an `AuthenticationRequest` was checked."""
        self.connecting.authenticated(connection, accepted, now)
        if connection.state == CONNECTED:
            packets = connection.undecided
            connection.undecided = []
            self._handle(connection, packets, now)

    def set_writable(self, connection: Connection, writable: bool, now: float) -> None:
        """The socket's buffer filled up, or has room again."""
        connection.writable = writable
        if not writable:
            connection.unwritable_since = now
            self._schedule_slow_reader(connection, now)
        if writable and connection.session is not None:
            self.deliverer.pump(connection.session, now)

    def _schedule_slow_reader(self, connection: Connection, now: float) -> None:
        if not connection.slow_reader_scheduled and connection.state != CLOSED:
            connection.slow_reader_scheduled = True
            due = max(now, connection.unwritable_since + SLOW_READER_SECONDS)
            self.timers.add(due, Timer(SLOW_READER, connection, None))

    def set_heard(self, connection: Connection, heard: bool, now: float) -> None:
        """The shell stopped reading from the connection, or goes on reading."""
        if heard and not connection.heard:
            connection.last_received = now  # what it sent meanwhile is still to be read
        connection.heard = heard

    def page_loaded(
        self,
        request: PageRequest,
        contents: dict[int, Message],
        deliveries: list[Delivery],
        now: float,
    ) -> None:
        """The store read what `take_page_requests` asked for."""
        self.deliverer.page_loaded(request, contents, deliveries, now)

    def drop_session(self, session: Session, now: float) -> None:
        """An operator ends a session, connected or not."""
        if session.connection is not None:
            self.connecting.end(session.connection, CLOSE_REASONS.index("kicked"), now)
        if not session.ended:
            self.recorder.session_ended(session, DROPPED)

    def wake(self, now: float) -> None:
        """Timers are due."""
        for _ in range(TIMERS_PER_WAKE_MAX):
            timer = self.timers.pop_due(now)
            if timer is None:
                return
            if timer.connection is not None and timer.connection.state != CLOSED:
                self._connection_timer(timer, timer.connection, now)
            elif timer.session is not None and not timer.session.ended:
                self._session_timer(timer, timer.session, now)

    def _connection_timer(self, timer: Timer, connection: Connection, now: float) -> None:
        if timer.kind == CONNECT_TIMEOUT:
            if connection.state != CONNECTED:
                self.statistics.count_error("connect_timeout")
                self.connecting.end(connection, KEEP_ALIVE_ENDED, now)
        elif timer.kind == KEEP_ALIVE:
            if not self.connecting.watch_keep_alive(connection, timer, now):
                self.statistics.count_error("keep_alive")
                self.connecting.end(connection, KEEP_ALIVE_ENDED, now)
        elif timer.kind == SLOW_READER:
            connection.slow_reader_scheduled = False
            if connection.writable:
                return
            if now - connection.unwritable_since < SLOW_READER_SECONDS:
                self._schedule_slow_reader(connection, now)
                return
            self.statistics.count_error("slow_reader")
            self.connecting.end(connection, SLOW, now)
        elif timer.kind == RETAINED:
            self.retained_replay.resume(connection, now)
        elif timer.kind == RETRY:
            interval = self.limits.retry_interval_seconds
            if interval is not None and connection.session is not None:
                self.deliverer.retry(connection.session, interval, now)
                self.timers.add(now + interval, timer)

    def _session_timer(self, timer: Timer, session: Session, now: float) -> None:
        if timer.kind == SESSION_EXPIRY:
            self.connecting.expire(session, now)
        elif timer.kind == AWAIT_REL:
            timeout = self.limits.await_rel_timeout_seconds
            session.await_rel_scheduled = False
            if timeout is None:
                return
            for held in list(session.inbound.values()):
                if now - held.since >= timeout:
                    self.publisher.abandon(held)
            if session.connection is not None or session.inbound:
                session.await_rel_scheduled = True
                self.timers.add(now + timeout, timer)

    # -- what there is to do

    def seal(self, time_ms: int, clock: int) -> Batch:
        """End the batch that is being collected."""
        number = self.recorder.batch_number
        withheld = self.output.seal()
        return Batch(number, self.recorder.seal(time_ms, clock), withheld)

    def committed(self, batch: Batch) -> None:
        """The batch is durable: now it may be spoken of."""
        self.output.release(batch.withheld, batch.number)

    def take_dirty(self) -> list[Connection]:
        """Return the connections that have bytes to write or are to be closed."""
        return self.output.take_dirty()

    def take_page_requests(self) -> list[PageRequest]:
        """Return what has to be read from disk."""
        requests = self.deliverer.page_requests
        self.deliverer.page_requests = []
        return requests

    def take_authentication_requests(self) -> list[AuthenticationRequest]:
        """Return the passwords to check."""
        requests = self.connecting.authentication_requests
        self.connecting.authentication_requests = []
        return requests

    def next_due(self) -> float | None:
        """Return when `wake` wants to be called."""
        return self.timers.next_due()
