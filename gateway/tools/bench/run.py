"""Runs a scenario: warm-up, measurement, and waiting for the remaining messages.

`run(scenario)` returns a Result. It raises BenchFailed if the broker violates the protocol, and
OSError if the broker cannot be reached. In every case the connections are closed, and persistent
sessions are deleted at the broker unless the broker is gone.
"""

import math
import time
from collections.abc import Callable
from typing import Final

from gateway.tools.bench.clients import Clients
from gateway.tools.bench.latency import Schedule
from gateway.tools.bench.loop import Loop
from gateway.tools.bench.processes import usage_of
from gateway.tools.bench.result import Faults, Reading, Result, rate_of
from gateway.tools.bench.scenario import Scenario

PROGRESS_SECONDS: Final = 0.5
"""Seconds between two progress reports, and between two checks for progress."""

STALL_SECONDS: Final = 2.0
"""Without a rate, missing messages count as lost after this time without progress, so that their
publishers can continue."""

TIMELINE_MAX: Final = 2_000
"""Maximum number of points in the timeline. A longer run stores only every second point, then every
fourth point, and so on."""

WITHOUT_END: Final = 1 << 62

Progress = Callable[[str, Reading], None]


def ignore(_phase: str, _reading: Reading) -> None:
    """Ignore a progress report. This is the default callback of `run`."""


def run(
    scenario: Scenario, *, broker_pid: int | None = None, progress: Progress = ignore
) -> Result:
    """Run the scenario and return the results.

    If the argument `broker_pid` is the process id of a local broker, the broker's resource usage is
    measured too.
    """
    clients = Clients(scenario)
    with Loop(spin=scenario.spin) as loop:
        try:
            clients.connect()
            if scenario.away:
                clients.disconnect_subscribers()
            loop.add(clients.publishers if scenario.away else clients)
            return _Run(scenario, clients, loop, broker_pid, progress).measure()
        finally:
            clients.disconnect()


class _Run:
    def __init__(
        self,
        scenario: Scenario,
        clients: Clients,
        loop: Loop,
        broker_pid: int | None,
        progress: Progress,
    ) -> None:
        self._scenario = scenario
        self._clients = clients
        self._loop = loop
        self._broker_pid = broker_pid
        self._progress = progress
        self._stalls = 0
        self._started_seconds = time.perf_counter()
        self._timeline: list[tuple[float, float]] = []
        self._note_every = 1
        self._skipped = 0

    def measure(self) -> Result:
        scenario, clients = self._scenario, self._clients
        start = self._reading()
        self._begin()
        if scenario.count is None:
            self._run_for("warming up", scenario.warm_up_seconds)
            clients.deliveries.clear()
            clients.acknowledgements.clear()
            start = self._reading()
        elif scenario.away:
            self._run_for("filling queues", math.inf)
            start = self._reading()
            clients.reconnect_subscribers()
            self._loop.add(clients.subscribers)
        self._run_for(
            "measuring", scenario.duration_seconds if scenario.count is None else math.inf
        )
        stop = self._reading()
        for publisher in clients.publishers:
            publisher.sent_max = publisher.sent
        self._run_for("waiting for the rest", math.inf)
        return self._result(start, stop)

    def _begin(self) -> None:
        """Start the publishers. If a message rate is set, they start one after another."""
        scenario = self._scenario
        now = time.perf_counter()
        for number, publisher in enumerate(self._clients.publishers):
            publisher.sent_max = WITHOUT_END if scenario.count is None else scenario.count
            if scenario.rate is not None:
                publisher.follow(
                    Schedule(
                        start_seconds=now + number / scenario.rate,
                        interval_seconds=scenario.publishers / scenario.rate,
                    )
                )
        self._loop.begin()

    def _run_for(self, phase: str, seconds: float) -> None:
        """Run the event loop for `seconds` seconds.

        The loop stops earlier if the run is complete, or if there is no progress for too long.
        `phase` is a name for progress reports.
        """
        now = time.perf_counter()
        end, shown, moved, given_up = now + seconds, now, now, now
        before = self._reading()
        scenario = self._scenario
        while now < end and not self._is_done():
            self._loop.tick()
            now = time.perf_counter()
            if now - shown < PROGRESS_SECONDS:
                continue
            shown = now
            reading = self._reading()
            self._progress(phase, reading)
            self._note(before, reading)
            for client in self._clients:
                client.keep_alive(now)
            if reading.counts != before.counts:
                moved = given_up = now
            elif now - moved > scenario.patience_seconds:
                return
            elif now - given_up > STALL_SECONDS:
                given_up = now
                self._give_up()
            before = reading

    def _note(self, before: Reading, now: Reading) -> None:
        """Append the message rate between two readings of the counters to the timeline.

        If the timeline is full, every second point is removed.
        """
        self._skipped += 1
        if self._skipped < self._note_every:
            return
        self._skipped = 0
        rate = rate_of(before, now)
        self._timeline.append((now.seconds - self._started_seconds, rate))
        if len(self._timeline) == TIMELINE_MAX:
            self._timeline = self._timeline[1::2]
            self._note_every *= 2

    def _give_up(self) -> None:
        for publisher in self._clients.publishers:
            self._stalls += publisher.give_up()

    def _is_done(self) -> bool:
        """Return True if all messages were sent, received and acknowledged."""
        return all(publisher.is_done for publisher in self._clients.publishers)

    def _reading(self) -> Reading:
        clients = self._clients
        return Reading(
            seconds=time.perf_counter(),
            sent=sum(publisher.sent for publisher in clients.publishers),
            completed=sum(publisher.completed for publisher in clients.publishers),
            received=sum(subscriber.received for subscriber in clients.subscribers),
            cpu_seconds=time.process_time(),
            broker=None if self._broker_pid is None else usage_of(self._broker_pid),
        )

    def _result(self, start: Reading, stop: Reading) -> Result:
        clients = self._clients
        if self._scenario.away:
            # How long a message waits for an absent client is not a property of the broker.
            clients.deliveries.clear()
        pairs = [
            (source.sequences, clients.publishers[number].sent)
            for subscriber in clients.subscribers
            for number, source in subscriber.sources.items()
            if not self._scenario.never_reconnects
        ]
        faults = Faults(
            lost=sum(sequences.lost_of(sent) for sequences, sent in pairs),
            duplicates=sum(sequences.duplicates for sequences, _ in pairs),
            late=sum(sequences.late for sequences, _ in pairs),
            foreign=sum(subscriber.foreign for subscriber in clients.subscribers),
            refused=sum(publisher.refused for publisher in clients.publishers),
            unfinished=sum(
                publisher.sent - publisher.completed for publisher in clients.publishers
            ),
        )
        return Result(
            scenario=self._scenario,
            start=start,
            stop=stop,
            end=self._reading(),
            faults=faults,
            stalls=self._stalls,
            window_used=min(publisher.window for publisher in clients.publishers),
            delivery_ms=clients.deliveries.percentiles_ms(),
            acknowledgement_ms=clients.acknowledgements.percentiles_ms(),
            delivery_curve_ms=clients.deliveries.curve_ms(),
            acknowledgement_curve_ms=clients.acknowledgements.curve_ms(),
            timeline=self._timeline,
        )
