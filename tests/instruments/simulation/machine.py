"""The broker's machine: it boots the real event loop on the disk, loses power, and boots again.

Each life (run of the broker's process) uses a separate virtual loop. A power cut or a kill removes
the process between two moments. A failed commit makes it exit by itself, as `oncegate broker` does.
A clean stop calls `EventLoop.stop`. Bytes that the sockets had accepted may still arrive.
"""

from asyncio import events
from collections.abc import Callable

from gateway.broker.access.authentication import Authenticator
from gateway.broker.core.broker import Broker
from gateway.broker.core.limits import Limits
from gateway.broker.core.records.recorder import Recorder
from gateway.broker.core.sessions.share import Share
from gateway.broker.server.event_loop.event_loop import UPKEEP_SECONDS, EventLoop
from gateway.broker.server.listeners.policy import AdmissionPolicy
from gateway.broker.server.listeners.stream import MqttProtocol
from gateway.broker.store.recovery import Recovered
from gateway.configuration.sections import Limits as BatchLimits
from tests.instruments.simulation.disk import Disk
from tests.instruments.simulation.network import Link
from tests.instruments.simulation.virtual_loop import Timeline, VirtualLoop
from tests.instruments.simulation.written import Written

LOGGED = ["t/1"]
"""Topics whose messages are all in the session log."""


class SimulatedProtocol(MqttProtocol):
    """The broker's protocol with a number, by which sets are ordered."""

    def __init__(self, event_loop: EventLoop, policy: AdmissionPolicy, number: int) -> None:
        super().__init__(event_loop, policy)
        self.number = number

    def __hash__(self) -> int:
        return self.number


class Life:
    """One run of the broker's process."""

    def __init__(  # noqa: PLR0917 - a life's parts, passed on by the machine
        self,
        number: int,
        timeline: Timeline,
        disk: Disk,
        limits: Limits,
        batch_limits: BatchLimits,
        broker_class: type[Broker],
        powered_at: float,
    ) -> None:
        self.loop = VirtualLoop(timeline, disk.run_blocking, powered_at)
        events._set_running_loop(self.loop)
        self.store, opened = disk.open_store(LOGGED)
        assert not opened.damage, opened.damage
        self.recovered: Recovered = opened.recovered
        recorder = Recorder(
            self.recovered.state,
            opened.store,
            number.to_bytes(8, "big"),
            self.recovered.next_batch,
            self.recovered.next_sequence,
        )
        self.broker = broker_class(self.recovered.state, recorder, limits, False, [])
        self.event_loop = EventLoop(
            self.broker, self.store, self.recovered, batch_limits, Authenticator()
        )
        self.opened = opened
        self.written = Written(self.event_loop, self.store)
        self.is_looked_after = True

    def start(self) -> None:
        """Start the broker with the state that the previous run left."""
        self.broker.start(
            self.opened.recovery,
            "0",
            self.recovered.previous_boot,
            self.loop.time(),
            *self.event_loop.wall_clock.read(),
        )
        self.event_loop.schedule()
        self._upkeep()

    def _upkeep(self) -> None:
        if self.is_looked_after:
            self.event_loop.upkeep()
            self.loop.call_later(UPKEEP_SECONDS, self._upkeep)

    async def stop(self) -> None:
        """Stop as `oncegate broker` does: end the upkeep, and write everything."""
        self.is_looked_after = False
        await self.event_loop.stop()


class Machine:
    """The broker's machine, across all runs of the process."""

    def __init__(
        self,
        timeline: Timeline,
        disk: Disk,
        limits: Limits,
        batch_limits: BatchLimits,
        *,
        broker_class: type[Broker] = Broker,
        booted: Callable[[Life], None],
        tell: Callable[[str, str], None],
    ) -> None:
        self.timeline = timeline
        self.disk = disk
        self.limits = limits
        self.batch_limits = batch_limits
        self.life: Life | None = None
        self._killed: Written | None = None
        """The last turn of a killed run, whose data are still in the page cache."""
        self.life_count = 0
        self.boot_times: list[float] = []
        self.links: dict[int, Link] = {}
        self.policy = AdmissionPolicy(anonymous=True, share=Share())
        self._broker_class = broker_class
        self._booted = booted
        self._tell = tell
        self._stopping = False
        self._powered_at = 0.0
        self.life_ends: list[float] = []
        """The times at which the process ended."""
        self.stops: list[float] = []
        """The times at which the broker was stopped normally."""

    # -- runs of the process

    def boot(self) -> None:
        """Start the broker."""
        if self.life is not None:
            return
        self.life_count += 1
        life = Life(
            self.life_count,
            self.timeline,
            self.disk,
            self.limits,
            self.batch_limits,
            self._broker_class,
            self._powered_at,
        )
        self.life = life
        self._stopping = False
        self.boot_times.append(self.timeline.now)
        self.disk.update_room()
        self._tell(
            "broker",
            f"starts, life {self.life_count}: {life.opened.recovery}, "
            f"{len(life.recovered.state.sessions)} sessions, next event "
            f"{life.recovered.next_sequence}",
        )
        killed, self._killed = self._killed, None
        if killed is not None:
            killed.check(life.recovered.state)
        self._booted(life)
        life.start()
        life.loop.create_task(self._end_when_failed(life))

    async def _end_when_failed(self, life: Life) -> None:
        await life.event_loop.failed.wait()
        self._tell("broker", f"ends: {life.event_loop.committer.failure}")
        await life.stop()
        self.timeline.after(0.0, self._process_ended, life, 1.0)

    def _process_ended(self, life: Life, down_seconds: float) -> None:
        if self.life is life:
            self._end(loses_buffers=False)
            self.timeline.after(down_seconds, self.boot)

    def cut_power(self, down_seconds: float) -> None:
        """Cut the power, and restore it after `down_seconds`."""
        if self.life is not None:
            self._tell("power", f"cut; back in {down_seconds} s")
            self._end(loses_buffers=True)
            self._powered_at = self.timeline.now + down_seconds / 2
            self.timeline.after(down_seconds, self.boot)

    def kill(self, down_seconds: float) -> None:
        """Kill the process, while the machine keeps running."""
        if self.life is not None:
            self._tell("broker", f"killed; starts again in {down_seconds} s")
            self._end(loses_buffers=False)
            self.timeline.after(down_seconds, self.boot)

    def stop(self, down_seconds: float | None) -> None:
        """Stop cleanly. Restart after `down_seconds`, or never if None."""
        life = self.life
        if life is not None and not self._stopping and life.event_loop.committer.failure is None:
            self._stopping = True
            self.stops.append(self.timeline.now)
            self._tell("broker", "is stopped")
            life.loop.create_task(self._stop(life, down_seconds))

    async def _stop(self, life: Life, down_seconds: float | None) -> None:
        await life.stop()
        self.timeline.after(0.0, self._stopped, life, down_seconds)

    def _stopped(self, life: Life, down_seconds: float | None) -> None:
        if self.life is life:
            self._end(loses_buffers=False)
            if down_seconds is not None or life.event_loop.committer.failure is not None:
                self.timeline.after(down_seconds or 1.0, self.boot)

    def _end(self, *, loses_buffers: bool) -> None:
        assert self.life is not None
        self.life.loop.end()
        failed = self.life.event_loop.committer.failure is not None
        self._killed = None if loses_buffers or failed else self.life.written
        self.life = None
        self.life_ends.append(self.timeline.now)
        self.disk.cut(loses_page_cache=loses_buffers)
        links, self.links = self.links, {}
        for link in links.values():
            if link.protocol is not None:
                seconds = link.chance.random() * 3 if loses_buffers else link.delay()
                link.broker_dies(seconds, loses_buffers=loses_buffers)

    # -- sockets

    def accept(self, link: Link) -> bool:
        """Accept a connection. Return False if no process is listening."""
        life = self.life
        if life is None or self._stopping or life.event_loop.failed.is_set():
            return False
        protocol = SimulatedProtocol(life.event_loop, self.policy, link.number)
        link.protocol = protocol
        link.is_heard = lambda: protocol.connection.is_open
        self.links[link.number] = link
        protocol.connection_made(link.transport)
        return True

    def end_of_simulation(self) -> None:
        """Close the files."""
        if self.life is not None:
            self.life.loop.end()
            self.life = None
        self.disk.release()
        events._set_running_loop(None)
