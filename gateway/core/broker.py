"""The broker's rules behind one door: stimuli in, facts and bytes out.

The shell calls a method for everything that happens, with the time. Afterwards it takes what there
is to do: `take_dirty` (bytes to write now), `take_hand_overs`, `seal` (a batch to commit) and then
`committed`, `take_page_requests`, `take_authentication_requests`, `next_due`.
"""

from typing import Final

from gateway.core.core import Core
from gateway.core.limits import Limits
from gateway.core.output import Withheld
from gateway.core.records.kinds import ClockQuality, CloseReason, EndReason, Observation, StartKind
from gateway.core.records.recorder import Recorder
from gateway.core.rules.acknowledge import Acknowledging
from gateway.core.rules.admission import Admission
from gateway.core.rules.authenticate import AuthenticationAnswer, AuthenticationRequest
from gateway.core.rules.connect import Connecting
from gateway.core.rules.deliver import Deliverer, PageRequest
from gateway.core.rules.disconnect import Disconnecting
from gateway.core.rules.fan_out import FanOut
from gateway.core.rules.full_disk import FullDisk
from gateway.core.rules.packets import Packets
from gateway.core.rules.publish import Publisher
from gateway.core.rules.qos2_receive import Qos2Receive
from gateway.core.rules.retained import RetainedReplay
from gateway.core.rules.shared_subscriptions import HandOver, Redistribution
from gateway.core.rules.subscribe import Subscribing
from gateway.core.rules.system_topics import SystemMessages
from gateway.core.rules.timeouts import Timeouts
from gateway.core.sessions.connection import Connection, ConnectionShare, ConnectionState
from gateway.core.sessions.message import Delivery, Message
from gateway.core.sessions.session import Session
from gateway.core.state import State
from gateway.core.timers import Timer, TimerKind
from gateway.core.violation import (
    QUOTA_EXCEEDED,
    UNSUPPORTED_PROTOCOL_VERSION,
    Violation,
)
from gateway.core.work import SLICE_UNITS
from gateway.wire.decoder import Decoder
from gateway.wire.malformed import UNSUPPORTED_PROTOCOL
from gateway.wire.packets import (
    Packet,
)

CONNECTIONS_TOLD_NO_MAX: Final = 64
"""Connections beyond `max_connections` that are kept until CONNECT can be answered with 0x03."""
TIMER_UNITS: Final = 7
"""What a timer costs at least: 300 of them before sockets get their turn again."""


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
        core = Core(state, recorder, limits)
        self.state = state
        self.recorder = recorder
        self.limits = limits
        self.statistics = core.statistics
        self.timers = core.timers
        self.time = core.time
        self.output = core.output
        self.system_messages = SystemMessages(core)
        self.deliverer = Deliverer(core)
        self.acknowledging = Acknowledging(core, self.deliverer)
        fan_out = FanOut(core, self.deliverer)
        admission = Admission(core)
        self.incoming = admission.incoming
        self.qos2_receive = Qos2Receive(core, admission, fan_out)
        self.full_disk = FullDisk(core)
        self.publisher = Publisher(core, admission, self.deliverer, fan_out, self.qos2_receive)
        self.redistribution = Redistribution(core, admission, fan_out)
        self.retained_replay = RetainedReplay(core, self.deliverer)
        self.subscribing = Subscribing(core, self.retained_replay, self.system_messages)
        self.disconnecting = Disconnecting(
            core, self.deliverer, self.publisher, self.redistribution, self.retained_replay
        )
        self.connecting = Connecting(
            core, self.disconnecting, self.full_disk, authenticates, methods
        )
        self.packets = Packets(
            core,
            self.connecting,
            self.disconnecting,
            self.publisher,
            self.qos2_receive,
            self.acknowledging,
            self.subscribing,
            self.full_disk,
        )
        self.timeouts = Timeouts(
            core,
            self.connecting,
            self.disconnecting,
            self.deliverer,
            self.qos2_receive,
            self.retained_replay,
        )

    # -- the broker's own life

    def start(
        self,
        recovery: StartKind,
        version: str,
        previous_boot: str,
        now: float,
        wall_ms: int,
        clock: ClockQuality,
    ) -> None:
        """Take up what the run before left: connections that ended with it, and their wills.

        `wall_ms` is the time in milliseconds since 1970, and `clock` how good it is.
        """
        time = self.time
        time.begin(now, wall_ms, clock, self.state.next_message_number)
        self.recorder.broker_started(recovery, version, previous_boot)
        for session in list(self.state.sessions.values()):
            if not session.closed_ms:
                self.recorder.session_closed(session, CloseReason.RESTART, time.time_ms)
            session.away_since = now - time.age_ms(session.closed_ms) / 1000
            self.disconnecting.schedule_expiry(session, now)
        for session in list(self.state.wills.values()):
            if session.ended or not session.durable:
                self.publisher.publish_will(session, now)
            else:
                self.disconnecting.schedule_will(session, now)

    def stop(self, now: float) -> None:
        """Write down that the broker stopped; connections have been ended before."""
        self.time.advance(now)
        self.recorder.broker_stopped()

    def limits_changed(self, now: float) -> None:
        """The limits were replaced: sessions that wait may have to end earlier than before."""
        for session in self.state.sessions.values():
            self.disconnecting.schedule_expiry(session, now)

    # -- stimuli

    def accept(
        self, address: str, anonymous: bool, now: float, share: ConnectionShare | None = None
    ) -> Connection:
        """A connection was made. It may come back closing: there are too many."""
        decoder = Decoder(
            self.limits.max_packet_size_bytes,
            allows_control_characters=self.limits.allow_control_characters,
        )
        connection = Connection(address, decoder, anonymous, now, share)
        self.statistics.connections_accepted += 1
        self.statistics.connections_open += 1
        if share is not None:
            share.connections_open += 1
        if self.packets.places_missing(connection) > CONNECTIONS_TOLD_NO_MAX:
            self.statistics.count_error("max_connections")
            self.disconnecting.end(connection, CloseReason.PROTOCOL_ERROR, now)
        else:
            due = now + self.limits.connect_timeout_seconds
            self.timers.add(due, Timer(TimerKind.CONNECT_TIMEOUT, connection, None))
        return connection

    def receive(self, connection: Connection, data: bytes, now: float) -> None:
        """Bytes arrived."""
        if not connection.is_open:
            return
        connection.last_received = now
        self.time.advance(now)
        packets = connection.decoder.feed(data)
        self.statistics.bytes_received += len(data)
        self.statistics.packets_received_total += len(packets)
        if connection.behind:
            connection.undecided.extend(packets)
        else:
            self._handle(connection, packets, now)
        waits = (
            connection.decoder.partial_bytes() > 0
            or connection.state is ConnectionState.AUTHENTICATING
        )
        if (waits or connection in self.incoming.parts) and connection.is_open:
            self.incoming.received(connection, len(data), len(packets) > 0)
            self._make_room(now)

    def _make_room(self, now: float) -> None:
        """End connections whose packets do not come to an end, where all take too much."""
        while True:
            victim = self.incoming.one_too_many(self.limits.max_packet_size_bytes)
            if victim is None:
                return
            detail = "the rest of a packet is missing, and there is no room to wait for it"
            self.end_for(victim, Violation("parts_bytes", QUOTA_EXCEEDED, detail), now)

    def go_on(self, connection: Connection, now: float) -> None:
        """Give a connection that is behind its next slice of work."""
        if not connection.behind:
            return
        self.time.advance(now)
        self.state.work.spent = 0
        connection.behind = False
        if connection.session is not None:
            violation = self.subscribing.go_on(connection.session, connection, now)
            if violation is not None:
                self.end_for(connection, violation, now)
        if not connection.behind and connection.is_open:
            packets = connection.undecided
            connection.undecided = []
            self._handle(connection, packets, now)

    def _handle(self, connection: Connection, packets: list[Packet], now: float) -> None:
        work = self.state.work
        units = SLICE_UNITS
        for index, packet in enumerate(packets):
            if connection.state is ConnectionState.AUTHENTICATING:
                connection.undecided.extend(packets[index:])
                return
            if connection.behind or (index and work.spent + index > units):
                connection.behind = True
                connection.undecided = packets[index:]
                return
            violation = self.packets.receive(connection, packet, now)
            if violation is not None:
                self.end_for(connection, violation, now)
            if not connection.is_open:
                return
        work.spent += len(packets)
        malformed = connection.decoder.error
        if malformed is None or connection.behind:
            return
        if connection.state is not ConnectionState.AUTHENTICATING:
            if malformed.reason == UNSUPPORTED_PROTOCOL:
                # [MQTT-3.1.2-2]
                connection.version = 4  # the answer every client has known since 3.1
                self.connecting.refuse(
                    connection, UNSUPPORTED_PROTOCOL_VERSION, "unsupported_protocol"
                )
            else:
                wrong = Violation(malformed.reason, malformed.reason_code, malformed.detail)
                self.end_for(connection, wrong, now)

    def end_for(self, connection: Connection, violation: Violation, now: float) -> None:
        """Close for what the core or the shell saw a peer do wrong [MQTT-4.8.0-1],
        [MQTT5-4.13.1-1]; the will goes out, as with every unclean end."""
        if not connection.is_open:
            return
        self.time.advance(now)
        self.statistics.count_error(violation.reason)
        session = connection.session
        name = connection.address
        if session is not None:
            name = f"client {session.client_id!r} from {name}"
            self.recorder.observed(
                session, Observation.PROTOCOL_ERROR, violation.reason, violation.detail
            )
        self.statistics.note(f"{name} disconnected: {violation.reason}: {violation.detail}")
        self.disconnecting.end(connection, CloseReason.PROTOCOL_ERROR, now, violation)

    def lose(self, connection: Connection, reason: CloseReason, now: float) -> None:
        """The network connection is gone, or its owner ends it."""
        self.time.advance(now)
        self.disconnecting.end(connection, reason, now)

    def authenticated(
        self, connection: Connection, answer: AuthenticationAnswer, now: float
    ) -> None:
        """An `AuthenticationRequest` has its answer."""
        self.time.advance(now)
        violation = self.connecting.authenticated(connection, answer, now)
        if connection.state not in (ConnectionState.AUTHENTICATING, ConnectionState.CLOSED):
            self.incoming.received(connection, 0, completed=True)
        if violation is not None:
            self.end_for(connection, violation, now)
        elif connection.state in (ConnectionState.CONNECTED, ConnectionState.AWAITING_AUTH):
            packets = connection.undecided
            connection.undecided = []
            self._handle(connection, packets, now)

    def set_disk_full(self, full: bool, now: float) -> list[Connection]:
        """The disk has no room for anything new, or has some again.

        Returns:
            The connections whose messages waited for that.
        """
        if full == self.limits.disk_full:
            return []
        self.limits.disk_full = full
        if full:
            return []
        waiting = self.full_disk.take_waiting()
        for connection, packets in waiting:
            for packet in packets:
                if connection.state is not ConnectionState.CONNECTED:
                    break
                violation = self.packets.receive(connection, packet, now)
                if violation is not None:
                    self.end_for(connection, violation, now)
        return [connection for connection, _ in waiting]

    def set_writable(self, connection: Connection, writable: bool, now: float) -> None:
        """The socket's buffer filled up, or has room again."""
        self.time.advance(now)
        connection.writable = writable
        if not writable:
            connection.unwritable_since = now
            self.timeouts.watch_slow_reader(connection, now)
        if writable and connection.session is not None:
            self.deliverer.pump(connection.session, now)

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
        self.time.advance(now)
        self.deliverer.page_loaded(request, contents, deliveries, now)

    def handed_over(
        self,
        request: HandOver,
        contents: dict[int, Message],
        deliveries: list[Delivery],
        now: float,
    ) -> None:
        """The store read what `take_hand_overs` asked for."""
        self.time.advance(now)
        self.redistribution.finish(request, contents, deliveries, now)

    def drop_session(self, session: Session, now: float) -> None:
        """An operator ends a session, connected or not."""
        self.time.advance(now)
        if session.connection is not None:
            self.disconnecting.end(session.connection, CloseReason.KICKED, now)
        if not session.ended:
            self.disconnecting.end_session(session, EndReason.DROPPED, now)

    def wake(self, now: float) -> None:
        """Timers are due. What they set for now waits for the next wake: sockets come first."""
        self.time.advance(now)
        self.state.work.spent = 0
        last = self.timers.count
        while self.state.work.spent <= SLICE_UNITS:
            timer = self.timers.take_due(now, last)
            if timer is None:
                return
            self.state.work.spent += TIMER_UNITS
            if timer.connection is not None and timer.connection.is_open:
                self.timeouts.connection_due(timer, timer.connection, now)
            elif timer.session is not None and not timer.session.ended:
                self.timeouts.session_due(timer, timer.session, now)

    # -- what there is to do

    def seal(self, now: float, wall_ms: int, clock: ClockQuality) -> Batch:
        """End the batch that is being collected.

        `wall_ms` is the time in milliseconds since 1970, and `clock` how good it is.
        """
        number = self.recorder.batch_number
        withheld = self.output.seal()
        self.disconnecting.ended_sealed, self.disconnecting.ended = self.disconnecting.ended, set()
        self.time.advance(now)
        blob = self.recorder.seal(wall_ms, clock)
        if self.time.learned:
            self.time.learned = False
            self._count_time_switched_off(now)
        return Batch(number, blob, withheld)

    def take_part(self, now: float, wall_ms: int, clock: ClockQuality) -> bytes:
        """Return what was recorded since the last part of the batch: see `Recorder.take_part`."""
        self.time.advance(now)
        return self.recorder.take_part(wall_ms, clock)

    def _count_time_switched_off(self, now: float) -> None:
        """Sessions that were left before an outage are away for longer than their timers count."""
        for session in self.state.sessions.values():
            if session.connection is None:
                session.away_since = now - self.time.age_ms(session.closed_ms) / 1000
                self.disconnecting.schedule_expiry(session, now)
                if session.will is not None:
                    self.timers.add(now, Timer(TimerKind.WILL_DELAY, None, session))

    def committed(self, batch: Batch) -> None:
        """The batch is durable: now it may be spoken of."""
        self.output.release(batch.withheld, batch.number)
        self.disconnecting.ended_sealed = set()

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
        requests = self.redistribution.requests
        self.redistribution.requests = []
        return requests

    def take_authentication_requests(self) -> list[AuthenticationRequest]:
        """Return the passwords to check."""
        requests = self.connecting.authentication_requests
        self.connecting.authentication_requests = []
        return requests

    def next_due(self) -> float | None:
        """Return when `wake` wants to be called."""
        return self.timers.next_due()
