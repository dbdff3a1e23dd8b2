"""The broker's rules behind one door: stimuli in, facts and bytes out.

The shell calls a method for everything that happens, with the time. Afterwards it takes what there
is to do: `take_dirty` (bytes to write now), `take_hand_overs`, `seal` (a batch to commit) and then
`committed`, `take_page_requests`, `take_authentication_requests`, `next_due`.
"""

from typing import Final, cast

from gateway.core.acknowledging import Acknowledging
from gateway.core.arriving import Arriving
from gateway.core.authentication import AuthenticationAnswer, AuthenticationRequest
from gateway.core.connecting import Connecting
from gateway.core.delivering import Deliverer, PageRequest
from gateway.core.ending import RESTART, Ending
from gateway.core.facts import CLOSE_REASONS, END_REASONS
from gateway.core.fan_out import FanOut
from gateway.core.frames import Frames
from gateway.core.handing_over import HandingOver, HandOver
from gateway.core.holding import Holding
from gateway.core.limits import SLOW_READER_SECONDS, Limits
from gateway.core.output import Output, Withheld
from gateway.core.publishing import Publisher
from gateway.core.recorder import Recorder
from gateway.core.retained_replay import RetainedReplay
from gateway.core.session import (
    AUTHENTICATING,
    AWAITING_AUTH,
    AWAITING_CONNECT,
    CLOSED,
    CONNECTED,
    Connection,
    ConnectionShare,
    Delivery,
    Message,
    Session,
)
from gateway.core.state import State
from gateway.core.statistics import Statistics
from gateway.core.subscribing import Subscribing
from gateway.core.system_messages import SystemMessages
from gateway.core.timers import (
    AWAIT_REL,
    CONNECT_TIMEOUT,
    KEEP_ALIVE,
    RETAINED,
    RETRY,
    SESSION_EXPIRY,
    SLOW_READER,
    WILL_DELAY,
    Timer,
    Timers,
)
from gateway.core.violation import (
    SERVER_UNAVAILABLE,
    UNSUPPORTED_PROTOCOL_VERSION,
    Violation,
    protocol_violation,
)
from gateway.core.wall_time import WallTime
from gateway.wire import kinds
from gateway.wire.decoder import Decoder
from gateway.wire.encoder import PINGRESP
from gateway.wire.malformed import UNSUPPORTED_PROTOCOL
from gateway.wire.packets import (
    Auth,
    Connect,
    Disconnect,
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
TIMERS_PER_WAKE_MAX: Final = 300
"""Timers handled before sockets get their turn again."""


class Batch:
    """What was collected: a blob to commit (None: nothing new) and what to say afterwards."""

    def __init__(self, number: int, blob: bytes | None, withheld: list[Withheld]) -> None:
        self.number = number
        self.blob = blob
        self.withheld = withheld


class Broker:
    """MQTT 3.1, 3.1.1 and 5.0, without a clock or a socket."""

    def __init__(
        self,
        state: State,
        recorder: Recorder,
        limits: Limits,
        authenticates: bool,
        methods: list[str],
    ) -> None:
        self.state = state
        self.recorder = recorder
        self.limits = limits
        self.statistics = Statistics()
        self.timers = Timers()
        self.wall_time = WallTime()
        self.output = Output(recorder)
        frames = Frames(state.tree, self.wall_time)
        self.system_messages = SystemMessages(state.tree, self.output, frames, self.statistics)
        self.deliverer = Deliverer(recorder, self.output, frames, limits, self.statistics)
        self.acknowledging = Acknowledging(recorder, self.output, self.deliverer, self.statistics)
        fan_out = FanOut(state, recorder, self.deliverer, limits, self.statistics)
        arriving = Arriving(state, recorder, limits, self.statistics, self.wall_time)
        self.holding = Holding(
            state, recorder, self.output, arriving, frames, fan_out, limits, self.statistics
        )
        self.publisher = Publisher(
            state,
            recorder,
            self.output,
            arriving,
            self.deliverer,
            fan_out,
            self.holding,
            limits,
            self.statistics,
            self.wall_time,
        )
        self.handing_over = HandingOver(state, recorder, arriving, fan_out, frames)
        self.retained_replay = RetainedReplay(state, recorder, self.deliverer, limits, self.timers)
        self.subscribing = Subscribing(
            state,
            recorder,
            self.output,
            self.retained_replay,
            limits,
            self.statistics,
            self.system_messages,
        )
        self.ending = Ending(
            recorder,
            self.output,
            self.deliverer,
            self.publisher,
            self.handing_over,
            limits,
            self.statistics,
            self.timers,
            self.wall_time,
        )
        self.connecting = Connecting(
            state,
            recorder,
            self.output,
            self.ending,
            limits,
            self.statistics,
            self.timers,
            self.wall_time,
            authenticates,
            methods,
        )

    # -- the broker's own life

    def start(
        self, recovery: str, version: str, previous_boot: str, now: float, time_ms: int
    ) -> None:
        """Take up what the run before left: connections that ended with it, and their wills."""
        self.wall_time.time_ms = time_ms
        self.recorder.broker_started(recovery, version, previous_boot)
        for session in list(self.state.sessions.values()):
            if not session.closed_ms:
                self.recorder.session_closed(session, RESTART, time_ms)
            session.away_since = now - max(0.0, (time_ms - session.closed_ms) / 1000)
            self.ending.schedule_expiry(session, now)
        for session in list(self.state.wills.values()):
            if session.ended or not session.durable:
                self.publisher.publish_will(session, now)
            else:
                self.ending.schedule_will(session, now)

    def stop(self, now: float, time_ms: int) -> None:
        """Write down that the broker stopped; connections have been ended before."""
        self.wall_time.time_ms = time_ms
        self.recorder.broker_stopped()

    # -- stimuli

    def accept(
        self, address: str, anonymous: bool, now: float, share: ConnectionShare | None = None
    ) -> Connection:
        """A connection was made. It may come back closing: there are too many."""
        decoder = Decoder(self.limits.max_packet_size_bytes)
        connection = Connection(address, decoder, anonymous, now, share)
        self.statistics.connections_accepted += 1
        self.statistics.connections_open += 1
        if share is not None:
            share.connections_open += 1
        if self._places_missing(connection) > CONNECTIONS_TOLD_NO_MAX:
            self.statistics.count_error("max_connections")
            self.ending.end(connection, PROTOCOL_ERROR, now)
        else:
            due = now + self.limits.connect_timeout_seconds
            self.timers.add(due, Timer(CONNECT_TIMEOUT, connection, None))
        return connection

    def _places_missing(self, connection: Connection) -> int:
        """Return how many open connections are beyond the limits that bind this one."""
        missing = self.statistics.connections_open - self.limits.max_connections
        share = connection.share
        if share is not None:
            missing = max(missing, share.connections_open - share.connections_max)
        return missing

    def receive(self, connection: Connection, data: bytes, now: float) -> None:
        """Bytes arrived."""
        if connection.state == CLOSED:
            return
        connection.last_received = now
        packets = connection.decoder.feed(data)
        self.statistics.bytes_received += len(data)
        self.statistics.packets_received_total += len(packets)
        self._handle(connection, packets, now)

    def _handle(self, connection: Connection, packets: list[Packet], now: float) -> None:
        for index, packet in enumerate(packets):
            if connection.state == AUTHENTICATING:
                connection.undecided.extend(packets[index:])
                return
            violation = self._receive_packet(connection, packet, now)
            if violation is not None:
                self.end_for(connection, violation, now)
            if connection.state == CLOSED:
                return
        malformed = connection.decoder.error
        if malformed is not None and connection.state != AUTHENTICATING:
            if malformed.reason == UNSUPPORTED_PROTOCOL:
                # [MQTT-3.1.2-2]
                connection.version = 4  # the answer every client has known since 3.1
                self.connecting.refuse(
                    connection, UNSUPPORTED_PROTOCOL_VERSION, "unsupported_protocol"
                )
            else:
                wrong = Violation(malformed.reason, malformed.reason_code, malformed.detail)
                self.end_for(connection, wrong, now)

    def _receive_packet(
        self, connection: Connection, packet: Packet, now: float
    ) -> Violation | None:
        """Handle one packet; return what was wrong with it in this state."""
        kind = packet.kind
        session = connection.session
        if session is None or kind == kinds.CONNECT:
            return self._receive_first(connection, packet, now)
        if kind == kinds.PUBLISH:
            return self.publisher.receive_publish(session, connection, cast(Publish, packet), now)
        self.statistics.packets_received[kind] += 1
        if kind == kinds.PUBREL:
            packet_id = cast(Pubrel, packet).packet_id
            self.holding.receive_pubrel(session, connection, packet_id, now)
            return None
        if kind == kinds.PUBACK:
            return self.acknowledging.receive_puback(session, cast(Puback, packet).packet_id, now)
        if kind == kinds.PUBREC:
            pubrec = cast(Pubrec, packet)
            return self.acknowledging.receive_pubrec(
                session, connection, pubrec.packet_id, pubrec.reason_code, now
            )
        if kind == kinds.PUBCOMP:
            return self.acknowledging.receive_pubcomp(session, cast(Pubcomp, packet).packet_id, now)
        return self._receive_rare(session, connection, packet, now)

    def _receive_rare(
        self, session: Session, connection: Connection, packet: Packet, now: float
    ) -> Violation | None:
        kind = packet.kind
        if kind == kinds.PINGREQ:
            self.output.send_at_once(connection, PINGRESP)  # [MQTT-3.12.4-1]
        elif kind == kinds.SUBSCRIBE:
            wanted = cast(Subscribe, packet)
            return self.subscribing.receive_subscribe(session, connection, wanted, now)
        elif kind == kinds.UNSUBSCRIBE:
            unwanted = cast(Unsubscribe, packet)
            return self.subscribing.receive_unsubscribe(session, connection, unwanted)
        elif kind == kinds.DISCONNECT:
            return self.ending.receive_disconnect(connection, cast(Disconnect, packet), now)
        elif kind == kinds.AUTH:
            return self.connecting.receive_auth(connection, cast(Auth, packet))
        else:
            return protocol_violation(f"{kinds.KIND_NAMES[kind]} is not a packet a client sends")
        return None

    def _receive_first(
        self, connection: Connection, packet: Packet, now: float
    ) -> Violation | None:
        self.statistics.packets_received[packet.kind] += 1
        if connection.state == AWAITING_AUTH and packet.kind == kinds.AUTH:
            return self.connecting.receive_auth(connection, cast(Auth, packet))
        if connection.state == AWAITING_AUTH and packet.kind == kinds.DISCONNECT:
            # [MQTT5-3.1.2-30]
            return self.ending.receive_disconnect(connection, cast(Disconnect, packet), now)
        if packet.kind != kinds.CONNECT:
            # [MQTT-3.1.0-1]
            return protocol_violation(f"{kinds.KIND_NAMES[packet.kind]} before CONNECT")
        if connection.state != AWAITING_CONNECT:
            # [MQTT-3.1.0-2]
            return protocol_violation("a second CONNECT on one connection")
        if self._places_missing(connection) > 0:
            self.connecting.take_terms(connection, cast(Connect, packet))
            self.connecting.refuse(connection, SERVER_UNAVAILABLE, "max_connections")
            return None
        return self.connecting.receive_connect(connection, cast(Connect, packet), now)

    def end_for(self, connection: Connection, violation: Violation, now: float) -> None:
        """Close for what the core or the shell saw a peer do wrong [MQTT-4.8.0-1],
        [MQTT5-4.13.1-1]; the will goes out, as with every unclean end."""
        if connection.state == CLOSED:
            return
        self.statistics.count_error(violation.reason)
        session = connection.session
        name = connection.address
        if session is not None:
            name = f"client {session.client_id!r} from {name}"
            self.recorder.observed(session, "protocol_error", violation.reason, violation.detail)
        self.statistics.note(f"{name} disconnected: {violation.reason}: {violation.detail}")
        self.ending.end(connection, PROTOCOL_ERROR, now, violation)

    def lose(self, connection: Connection, reason: str, now: float) -> None:
        """The network connection is gone, or the shell ends it, for a reason of CLOSE_REASONS."""
        self.ending.end(connection, CLOSE_REASONS.index(reason), now)

    def authenticated(
        self, connection: Connection, answer: AuthenticationAnswer, now: float
    ) -> None:
        """An `AuthenticationRequest` has its answer."""
        violation = self.connecting.authenticated(connection, answer, now)
        if violation is not None:
            self.end_for(connection, violation, now)
        elif connection.state in (CONNECTED, AWAITING_AUTH):
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

    def handed_over(
        self,
        request: HandOver,
        contents: dict[int, Message],
        deliveries: list[Delivery],
        now: float,
    ) -> None:
        """The store read what `take_hand_overs` asked for."""
        self.handing_over.finish(request, contents, deliveries, now)

    def drop_session(self, session: Session, now: float) -> None:
        """An operator ends a session, connected or not."""
        if session.connection is not None:
            self.ending.end(session.connection, CLOSE_REASONS.index("kicked"), now)
        if not session.ended:
            self.ending.end_session(session, DROPPED, now)

    def wake(self, now: float) -> None:
        """Timers are due. What they set for now waits for the next wake: sockets come first."""
        for timer in self.timers.take_due(now, TIMERS_PER_WAKE_MAX):
            if timer.connection is not None and timer.kind == RETAINED:
                self.retained_replay.resume(timer.connection, now)
            elif timer.connection is not None and timer.connection.state != CLOSED:
                self._connection_timer(timer, timer.connection, now)
            elif timer.session is not None and not timer.session.ended:
                self._session_timer(timer, timer.session, now)

    def _connection_timer(self, timer: Timer, connection: Connection, now: float) -> None:
        if timer.kind == CONNECT_TIMEOUT:
            if connection.state != CONNECTED:
                self.statistics.count_error("connect_timeout")
                self.ending.end(connection, KEEP_ALIVE_ENDED, now)
        elif timer.kind == KEEP_ALIVE:
            if not self.connecting.watch_keep_alive(connection, timer, now):
                self.statistics.count_error("keep_alive")
                self.ending.end(connection, KEEP_ALIVE_ENDED, now)
        elif timer.kind == SLOW_READER:
            connection.slow_reader_scheduled = False
            if connection.writable:
                return
            if now < connection.unwritable_since + SLOW_READER_SECONDS:
                self._schedule_slow_reader(connection, now)
                return
            self.statistics.count_error("slow_reader")
            self.ending.end(connection, SLOW, now)
        elif timer.kind == RETRY:
            interval = self.limits.retry_interval_seconds
            if interval is not None and connection.session is not None:
                self.deliverer.retry(connection.session, interval, now)
                self.timers.add(now + interval, timer)

    def _session_timer(self, timer: Timer, session: Session, now: float) -> None:
        if timer.kind == SESSION_EXPIRY:
            self.ending.expire(session, now)
        elif timer.kind == WILL_DELAY:
            self.ending.schedule_will(session, now)
        elif timer.kind == AWAIT_REL:
            timeout = self.limits.await_rel_timeout_seconds
            session.await_rel_scheduled = False
            if timeout is None:
                return
            for held in list(session.inbound.values()):
                if now - held.since >= timeout:
                    self.holding.abandon(held)
            if session.connection is not None or session.inbound:
                session.await_rel_scheduled = True
                self.timers.add(now + timeout, timer)

    # -- what there is to do

    def seal(self, time_ms: int, clock: int) -> Batch:
        """End the batch that is being collected."""
        number = self.recorder.batch_number
        withheld = self.output.seal()
        self.ending.ended_sealed, self.ending.ended = self.ending.ended, set()
        return Batch(number, self.recorder.seal(time_ms, clock), withheld)

    def committed(self, batch: Batch) -> None:
        """The batch is durable: now it may be spoken of."""
        self.output.release(batch.withheld, batch.number)
        self.ending.ended_sealed = set()

    def take_dirty(self) -> list[Connection]:
        """Return the connections that have bytes to write or are to be closed."""
        return self.output.take_dirty()

    def take_page_requests(self) -> list[PageRequest]:
        """Return what has to be read from disk."""
        requests = self.deliverer.page_requests
        self.deliverer.page_requests = []
        return requests

    def take_hand_overs(self) -> list[HandOver]:
        """Return what has to be read from disk before the batch is sealed."""
        requests = self.handing_over.requests
        self.handing_over.requests = []
        return requests

    def take_authentication_requests(self) -> list[AuthenticationRequest]:
        """Return the passwords to check."""
        requests = self.connecting.authentication_requests
        self.connecting.authentication_requests = []
        return requests

    def next_due(self) -> float | None:
        """Return when `wake` wants to be called."""
        return self.timers.next_due()
