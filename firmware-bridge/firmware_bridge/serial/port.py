"""Runs one serial port: opens and reads it, and opens it again whenever it is lost.

After an internal error, only the reading of the affected port is restarted
(docs/decisions/0062-an-error-in-one-port-ends-that-port-s-reading.md).
"""

import asyncio
import logging
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from firmware_bridge.control_socket import ControlSocket
from firmware_bridge.outbox.outbox import Outbox
from firmware_bridge.protocols.interface import DecoderSettings, PollerSettings
from firmware_bridge.protocols.text_values import TextLineSettings
from firmware_bridge.readings.kinds import Kind
from firmware_bridge.readings.seen import Seen
from firmware_bridge.serial.commands import Commands
from firmware_bridge.serial.damage_share import DamageShare
from firmware_bridge.serial.hot_plug import HotPlug
from firmware_bridge.serial.intake import Intake
from firmware_bridge.serial.link import Link, PortLost
from firmware_bridge.serial.listening import Listening
from firmware_bridge.serial.opening import open_port
from firmware_bridge.serial.polling import Polling, ToIntake
from firmware_bridge.serial.port_errors import DENIED
from firmware_bridge.serial.settings import PortSettings
from firmware_bridge.serial.silence import Silence
from firmware_bridge.serial.status import PortStatus
from gateway.process.mqtt_client.backoff import Backoff

logger = logging.getLogger(__name__)

# A port must stay open this long to reset its back-off. It may open and then fail immediately.
STEADY_SECONDS = 5.0
# Longest back-off after an internal error. A board repeats the frame that caused it every 0.5 s.
FAILURE_BACKOFF_SECONDS_MAX = 2.0
# Tracebacks logged per port, one for each place in the code. A repeated error is only counted.
FAILURES_LOGGED_MAX = 8


@dataclass(frozen=True, slots=True)
class SharedParts:
    """Objects that all ports of the bridge share.

    `next_sequence` returns the next sequence number for a device that does not number its frames.
    """

    outbox: Outbox
    control: ControlSocket
    hot_plug: HotPlug
    next_sequence: Callable[[str], int]
    commands: Commands | None = None
    seen: Seen | None = None


class Port:
    """One serial port: its connection, its protocol, its status, and its intake to the outbox."""

    def __init__(self, settings: PortSettings, parts: SharedParts) -> None:
        self._settings = settings
        self._control = parts.control
        self._hot_plug = parts.hot_plug
        self._failures_logged: list[traceback.FrameSummary] = []
        self._fault_logged: str | None = None
        self._status = PortStatus(
            settings.name,
            settings.framing,
            settings.place,
            when_full=settings.policy,
            units=settings.units,
        )
        for device in settings.protocol.device_names:
            self._status.device(device)
        self._silence = Silence(settings, self._status)
        self._damage = DamageShare(settings.name)
        self._link: Link | None = None
        self._errors_before: dict[str, int] = {}
        self._intake = Intake(
            settings,
            parts.outbox,
            parts.next_sequence,
            self._status,
            commands=parts.commands,
            seen=parts.seen,
        )
        self._conversation = _conversation_on(settings, self._intake)
        self._conversation.kinds.remember(_stored_kinds(settings, parts.outbox))
        self._intake.use_kinds(self._conversation.kinds)

    @property
    def name(self) -> str:
        """The name of the port in the configuration."""
        return self._settings.name

    @property
    def is_available(self) -> bool:
        """True if the port is open and not silent."""
        return self._status.state == "open" and not self._status.silent

    def availability(self) -> dict[str, bool]:
        """Return the availability (True or False) of the port and of each watched device.

        The keys are `<port>` and `<port>/<device>`.
        """
        if self._status.held:
            self._intake.presence.note_held()
        is_open = self._status.state == "open"
        return {
            self.name: self.is_available,
            **{
                f"{self.name}/{device}": is_open and is_present
                for device, is_present in self._intake.presence.states().items()
            },
        }

    def problem(self) -> str | None:
        """Return a sentence about the port's most serious problem, or None if there is no problem.

        The sentence contains no counts, so it does not change while the problem is the same.
        """
        status = self._status
        if status.state != "open":
            return f"serial port {self.name} is not open: {status.fault or 'not tried yet'}"
        if status.dropping is not None:
            return f"serial port {self.name} loses readings: {status.dropping}"
        if status.held:
            return f"serial port {self.name} is not read because the outbox is full"
        if status.silent:
            return f"serial port {self.name} receives nothing"
        if self._damage.warns:
            return f"serial port {self.name}: many frames are damaged"
        silent = sorted(self._intake.presence.silent())
        return f"serial port {self.name}: {', '.join(silent)} silent" if silent else None

    def status(self) -> dict[str, object]:
        """Return the port's part of the bridge's status."""
        if self._link is not None:
            self._count_line_errors(self._link)
        presence, tally = self._intake.presence, self._conversation.tally
        if self._status.held:
            presence.note_held()
        # Devices that do not answer are reported by name. They do not count as line damage.
        damaged = tally.damaged.total() - tally.damaged["no_answer"]
        self._damage.update(frames=self._status.frames, damaged=damaged)
        unread = self._conversation.unread()
        topic = self._settings.readings.topic.replace("{port}", self._settings.name)
        return {"topic": topic, **self._status.as_json(tally, presence, self._damage, unread)}

    def recent_frames(self) -> list[dict[str, object]]:
        """Return the port's latest frames as JSON.

        Only operators may see the frames, because the frames can reveal which meter sent them.
        """
        return self._intake.recent.as_json(self._settings.units)

    async def run(self) -> None:
        """Open and read the port until cancelled. If reading fails, open the port again."""
        try:
            await self._run_again_and_again()
        finally:
            self._intake.losses.summarise(self._conversation.tally.damaged)

    async def _run_again_and_again(self) -> None:
        backoff = Backoff(FAILURE_BACKOFF_SECONDS_MAX)
        while True:
            begun_at = time.monotonic()
            reading = asyncio.create_task(self._run())
            try:
                await asyncio.wait({reading})
            finally:
                reading.cancel()
                await asyncio.gather(reading, return_exceptions=True)
            self._note_failure(reading)
            if time.monotonic() - begun_at > STEADY_SECONDS:
                backoff.reset()
            await backoff.wait()

    async def _run(self) -> None:
        backoff = Backoff()
        while True:
            opened_at: float | None = None
            frames_before = self._status.frames
            arrivals_before = self._hot_plug.arrivals
            try:
                link = await open_port(self._settings)
                opened_at = time.monotonic()
                await self._read(link)
                # The port is reopened on purpose: it was silent, or the server closed it when idle.
                backoff.reset()
                continue
            except PortLost as lost:
                # A port that is reopened on purpose is shown as open in the meantime.
                was_open = opened_at is not None or self._status.state == "open"
                self._note_lost(str(lost), was_open=was_open)
            is_steady = opened_at is not None and time.monotonic() - opened_at > STEADY_SECONDS
            if is_steady or self._status.frames > frames_before:
                backoff.reset()
            if self._settings.address is None:
                await self._hot_plug.wait(backoff, since=arrivals_before)
            else:
                await backoff.wait()

    async def _read(self, link: Link) -> None:
        """Read the port until it must be reopened, for example because it was silent for too long.

        Raises PortLost if the port is lost.
        """
        self._link, self._errors_before = link, dict(link.line_errors())
        try:
            async with asyncio.timeout(None) as reading:
                self._silence.begin(lambda: reading.reschedule(0.0))
                self._note_found(link)
                await self._conversation.run(link)
        except TimeoutError:
            if not reading.expired():
                raise
        finally:
            self._silence.end()
            self._count_line_errors(link)
            self._link = None
            link.close()

    def _count_line_errors(self, link: Link) -> None:
        counted = dict(link.line_errors())
        if counted != self._errors_before:
            self._status.note_line_errors(counted, self._errors_before)
            self._errors_before = counted

    def _note_failure(self, reading: "asyncio.Task[None]") -> None:
        """Log an unexpected error, and replace the decoder or poller of the port.

        If the same line of code raises an error again, the traceback is not logged again.
        """
        error = reading.exception()
        assert error is not None, "a port is read until it is cancelled"
        self._conversation.begin_again()
        self._intake.use_kinds(self._conversation.kinds)
        self._status.failures += 1
        self._note_lost(f"an error of the bridge: {error!r:.200}", was_open=True)
        place = traceback.extract_tb(error.__traceback__)[-1]
        if place in self._failures_logged or len(self._failures_logged) >= FAILURES_LOGGED_MAX:
            return
        self._failures_logged.append(place)
        logger.error(
            "serial port %s: %s:%d raised; only this port is restarted; please report this",
            self._settings.name,
            place.filename,
            place.lineno,
            exc_info=error,
        )

    def _note_found(self, link: Link) -> None:
        was_open, self._status.state = self._status.state == "open", "open"
        self._status.fault = self._fault_logged = None
        self._status.opened += 1
        self._status.path = link.path
        if was_open:
            return  # The port was reopened because of silence, which has its own log line.
        logger.info("serial port %s: open on %s", self._settings.name, link.path)
        self._control.observe("serial_port_found", self._settings.name, link.path)

    def _note_lost(self, fault: str, *, was_open: bool) -> None:
        if was_open:
            self._status.state = "lost"
            self._control.observe("serial_port_lost", self._settings.name, fault)
            self._intake.losses.summarise(self._conversation.tally.damaged)
        is_first, self._status.fault = fault != self._status.fault, fault
        # udev sets the group of a new device a moment later, so the first denial is not logged.
        if fault == self._fault_logged or (is_first and fault.endswith(DENIED)):
            return
        self._fault_logged = fault
        logger.warning("serial port %s: %s; trying again", self._settings.name, fault)


def _stored_kinds(settings: PortSettings, outbox: Outbox) -> Mapping[str, Kind]:
    """Return the stored data types that still apply to the port's quantities.

    The type `text` is omitted if the protocol has no setting `types`. Without this setting, users
    could not change the type back to number.
    """
    kinds = outbox.kinds_of(settings.name, settings.framing)
    if isinstance(settings.protocol, TextLineSettings):
        return kinds
    return {name: kind for name, kind in kinds.items() if kind != "text"}


def _conversation_on(settings: PortSettings, intake: Intake) -> Listening | Polling:
    if isinstance(settings.protocol, PollerSettings) and settings.protocol.is_polled:
        audience = ToIntake(intake, settings.device_name)
        return Polling(settings.protocol, settings.polled_line, audience)
    assert isinstance(settings.protocol, DecoderSettings), "it is polled or sends by itself"
    return Listening(settings.protocol, intake)
