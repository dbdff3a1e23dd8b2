"""Runs a scenario: connects everybody, drives the sockets from one epoll loop, counts.

`Run(scenario).run()` gives a Result, or raises BenchFailed (the broker did what no broker may),
OSError (it is not there). All its connections are closed when it ends, however it ends; persistent
sessions are ended at the broker too, unless the broker is gone.
"""

import ctypes
import os
import select
import time
from collections.abc import Callable
from typing import Final

from gateway.bench.connection import BenchFailed, Client
from gateway.bench.frames import BLOCK_MESSAGES, Frames
from gateway.bench.latency import STEP_FAST, Departures, Plan, Samples
from gateway.bench.processes import usage_of
from gateway.bench.publisher import Publisher
from gateway.bench.result import Reading, Result
from gateway.bench.scenario import DRAIN_SECONDS, STALL_SECONDS, Scenario
from gateway.bench.subscriber import Source, Subscriber

RECEIVE_BYTES: Final = 256 * 1024
"""One read. Larger ones no longer fit the processor's cache together with what they are compared
with."""

MATRICES_BYTES: Final = 64 * 1024 * 1024
"""All matrices of frames together: many publishers have smaller ones."""

TIMED_PER_SECOND: Final = 20_000
"""With a rate, about so many messages a second are timed."""

PROGRESS_SECONDS: Final = 0.5

IDLE_SECONDS: Final = 0.1
"""The longest sleep: the loop looks at its clock at least this often."""

_PR_SET_TIMERSLACK: Final = 29
TIMER_SLACK_NANOSECONDS: Final = 1_000
"""Linux wakes sleepers up to 50 µs late unless told otherwise, which would count as latency."""

Progress = Callable[[str, Reading], None]


def _ignore(_phase: str, _reading: Reading) -> None:
    return


class Run:
    """One run. `broker_pid` names a process on this machine whose usage is read as well."""

    def __init__(
        self, scenario: Scenario, *, broker_pid: int | None = None, progress: Progress = _ignore
    ) -> None:
        self.scenario = scenario
        self._broker_pid = broker_pid
        self._progress = progress
        self._name = f"{os.getpid():x}-{time.time_ns() & 0xFFFFFF:06x}"
        self._deliveries = Samples()
        self._acknowledgements = Samples()
        self._publishers = [self._publisher(number) for number in range(scenario.publishers)]
        self._subscribers = [self._subscriber(number) for number in range(scenario.subscribers)]
        for number, publisher in enumerate(self._publishers):
            publisher.receivers = [
                subscriber.sources[number].sequences
                for subscriber in self._subscribers
                if number in subscriber.sources
            ]
        self._clients: dict[int, Client] = {}
        self._buffer = bytearray(max(RECEIVE_BYTES, 4 * self._publishers[0].frames.row_bytes))
        self._view = memoryview(self._buffer)
        self._gave_up = 0

    def run(self) -> Result:
        try:
            self._connect()
            with select.epoll() as poller:
                self._poller = poller
                for client in [*self._publishers, *self._subscribers]:
                    client.socket.setblocking(False)
                    self._clients[client.socket.fileno()] = client
                    self._register(client)
                    self._read_early(client)
                return self._measure()
        finally:
            self._disconnect()

    # -- setting up

    def _frames(self, publisher: int) -> Frames:
        scenario = self.scenario
        room = min(RECEIVE_BYTES, MATRICES_BYTES // (2 * scenario.publishers))
        return Frames(
            topic=scenario.topic_of(self._name, publisher),
            publisher=publisher,
            payload_bytes=scenario.payload_bytes,
            qos=scenario.qos,
            version=scenario.version,
            rows=min(BLOCK_MESSAGES, max(1, room // (scenario.payload_bytes + 32))),
        )

    def _publisher(self, number: int) -> Publisher:
        scenario = self.scenario
        if scenario.rate is not None:
            step = max(1, int(scenario.rate / TIMED_PER_SECOND))
        else:
            step = 1 if scenario.under_way_max * scenario.publishers <= 10 else STEP_FAST
        return Publisher(
            f"bench-{self._name}-p{number}",
            scenario.version,
            frames=self._frames(number),
            qos=scenario.qos,
            window=scenario.under_way_max,
            departures=Departures(step=step, under_way_max=2 * scenario.under_way_max),
            samples=self._acknowledgements,
        )

    def _subscriber(self, number: int) -> Subscriber:
        sources = {
            publisher: Source(self._expected(publisher), self._publishers[publisher].departures)
            for publisher in self.scenario.sources_of(number)
        }
        return Subscriber(
            f"bench-{self._name}-s{number}",
            self.scenario.version,
            sources=sources,
            qos=self.scenario.qos,
            samples=self._deliveries,
        )

    def _expected(self, publisher: int) -> Frames:
        """One matrix for each publisher, whoever compares with it."""
        if not hasattr(self, "_expected_frames"):
            self._expected_frames: dict[int, Frames] = {}
        if publisher not in self._expected_frames:
            self._expected_frames[publisher] = self._frames(publisher)
        return self._expected_frames[publisher]

    def _connect(self) -> None:
        clients: list[Client] = [*self._subscribers, *self._publishers]
        for client in clients:
            self._admit(client, keeps_session=self.scenario.persistent)
        for number, subscriber in enumerate(self._subscribers):
            topics = [
                self.scenario.topic_of(self._name, publisher)
                for publisher in self.scenario.sources_of(number)
            ]
            subscriber.subscribe(topics)
        for publisher in self._publishers:
            if self.scenario.qos:
                publisher.window = min(publisher.window, publisher.receive_maximum)

    def _admit(self, client: Client, *, keeps_session: bool) -> None:
        scenario = self.scenario
        connect = client.connect_of(
            clean_start=not keeps_session,
            keeps_session=keeps_session,
            receive_maximum=max(1, scenario.window),
            username=scenario.username,
            password=scenario.password,
        )
        client.connect(scenario.host, scenario.port, connect)

    def _disconnect(self) -> None:
        for client in [*self._publishers, *self._subscribers]:
            client.say_goodbye()
        if not self.scenario.persistent:
            return
        for client in [*self._publishers, *self._subscribers]:
            try:
                self._admit(client, keeps_session=False)
            except (OSError, BenchFailed):
                # The broker is gone; what went wrong before is worth more than this.
                client.socket.close()
                return
            client.say_goodbye()

    # -- the loop

    def _register(self, client: Client) -> None:
        self._poller.register(client.socket.fileno(), select.EPOLLIN)
        client.waits_to_write = False

    def _read_early(self, client: Client) -> None:
        """What came together with the handshake's last packet."""
        if client.partial:
            raise BenchFailed(
                f"{client.client_id}: the broker sent {bytes(client.partial[:40])!r}"
                " before anything was published"
            )

    def _turn(self) -> None:
        """Waits for sockets or the plan, reads what came, sends what may be sent."""
        now = time.perf_counter()
        for descriptor, event in self._poller.poll(self._patience_ms(now)):
            client = self._clients[descriptor]
            if event & select.EPOLLOUT:
                client.flush()
            if event & ~select.EPOLLOUT:
                self._read(client)
            self._watch(client)
        now = time.perf_counter()
        for publisher in self._publishers:
            publisher.pump(now)
            if publisher.unsent:
                self._watch(publisher)

    def _patience_ms(self, now: float) -> float:
        """How long nothing has to be done unless something comes. Sleeps the part of it that
        epoll, which counts milliseconds, cannot."""
        if self.scenario.rate is None:
            return 1000 * IDLE_SECONDS
        wait = min(
            (
                publisher.plan.seconds_of(publisher.sent) - now
                for publisher in self._publishers
                if publisher.plan is not None and publisher.sent < publisher.sent_max
            ),
            default=IDLE_SECONDS,
        )
        if wait > 0:
            select.select([self._poller], [], [], min(wait, IDLE_SECONDS))
        return 0

    def _read(self, client: Client) -> None:
        held = len(client.partial)
        if held:
            self._view[:held] = client.partial
        try:
            count = client.socket.recv_into(self._view[held:])
        except BlockingIOError:
            return
        if count == 0:
            raise BenchFailed(f"{client.client_id}: the broker closed the connection")
        end = held + count
        done = client.receive(self._buffer, end, time.perf_counter())
        if end - done == len(self._buffer):
            raise BenchFailed(f"{client.client_id}: a packet of more than {end} bytes came")
        if done < end or held:
            client.partial = self._buffer[done:end]

    def _watch(self, client: Client) -> None:
        """Asks for room to write only while something waits for it."""
        waits = bool(client.unsent)
        if waits != client.waits_to_write:
            client.waits_to_write = waits
            events = select.EPOLLIN | (select.EPOLLOUT if waits else 0)
            self._poller.modify(client.socket.fileno(), events)

    # -- phases

    def _measure(self) -> Result:
        scenario = self.scenario
        ctypes.CDLL(None).prctl(_PR_SET_TIMERSLACK, TIMER_SLACK_NANOSECONDS)
        self._begin()
        warm_up = scenario.warm_up_seconds if scenario.count is None else 0.0
        self._go_on("warming up", until=lambda: False, seconds=warm_up)
        self._deliveries.clear()
        self._acknowledgements.clear()
        start = self._reading()
        seconds = scenario.duration_seconds if scenario.count is None else float("inf")
        if scenario.count is None:
            self._go_on("measuring", until=lambda: False, seconds=seconds)
        else:
            self._go_on("measuring", until=self._is_done, seconds=seconds)
        stop = self._reading()
        for publisher in self._publishers:
            publisher.sent_max = publisher.sent
        self._go_on("draining", until=self._is_done, seconds=float("inf"))
        return self._result(start, stop)

    def _begin(self) -> None:
        """From here on publishers send, by turns where there is a plan."""
        scenario = self.scenario
        now = time.perf_counter()
        for number, publisher in enumerate(self._publishers):
            publisher.sent_max = (1 << 62) if scenario.count is None else scenario.count
            if scenario.rate is not None:
                publisher.plan = Plan(
                    start_seconds=now + number / scenario.rate,
                    interval_seconds=scenario.publishers / scenario.rate,
                )
            publisher.pump(now)
            self._watch(publisher)

    def _go_on(self, phase: str, *, until: Callable[[], bool], seconds: float) -> None:
        """Turns the loop for so long, or until that is true, or until nothing moves any more."""
        now = time.perf_counter()
        end, shown, moved = now + seconds, now, now
        before = self._total()
        while now < end and not until():
            self._turn()
            now = time.perf_counter()
            if now - shown < PROGRESS_SECONDS:
                continue
            shown = now
            self._progress(phase, self._reading())
            total = self._total()
            if total != before:
                before, moved = total, now
            elif self.scenario.qos == 0 and phase != "draining" and now - moved > STALL_SECONDS:
                self._give_up()
            elif phase != "warming up" and now - moved > DRAIN_SECONDS:
                return

    def _give_up(self) -> None:
        for publisher in self._publishers:
            if publisher.completed < publisher.sent:
                publisher.give_up()
                self._gave_up += 1

    def _is_done(self) -> bool:
        """Everything was sent, has come, and its exchange has ended."""
        return all(
            publisher.sent == publisher.sent_max
            and publisher.completed == publisher.sent
            and all(sequences.next >= publisher.sent for sequences in publisher.receivers)
            for publisher in self._publishers
        )

    def _total(self) -> tuple[int, int, int]:
        return (
            sum(publisher.sent for publisher in self._publishers),
            sum(publisher.completed for publisher in self._publishers),
            sum(subscriber.received for subscriber in self._subscribers),
        )

    def _reading(self) -> Reading:
        sent, completed, received = self._total()
        return Reading(
            seconds=time.perf_counter(),
            sent=sent,
            completed=completed,
            received=received,
            cpu_seconds=time.process_time(),
            broker=None if self._broker_pid is None else usage_of(self._broker_pid),
        )

    def _result(self, start: Reading, stop: Reading) -> Result:
        sequences = [
            (source.sequences, self._publishers[number].sent)
            for subscriber in self._subscribers
            for number, source in subscriber.sources.items()
        ]
        return Result(
            scenario=self.scenario,
            start=start,
            stop=stop,
            lost=sum(had.lost_of(sent) for had, sent in sequences),
            duplicates=sum(had.duplicates for had, _ in sequences),
            late=sum(had.late for had, _ in sequences),
            foreign=sum(subscriber.foreign for subscriber in self._subscribers),
            refused=sum(publisher.refused for publisher in self._publishers),
            unfinished=sum(publisher.sent - publisher.completed for publisher in self._publishers)
            if self.scenario.qos
            else 0,
            gave_up=self._gave_up,
            window_used=self._publishers[0].window,
            delivery_ms=self._deliveries.figures(),
            acknowledgement_ms=self._acknowledgements.figures(),
        )
