"""One serial port from its device file to the outbox; lost and found again without a restart.

A board's frame is acknowledged when the outbox says that it is durable. A board can wait, so its
port is not read while the outbox is full; other sensors cannot, so what they say then is counted
as dropped, and its numbers stay missing in `sequence` for everybody to see.
"""

import asyncio
import contextlib
import logging
import time
import traceback
from collections.abc import Callable

from firmware_bridge.backoff import Backoff
from firmware_bridge.control_socket import ControlSocket
from firmware_bridge.outbox.boards import Placement, TooManyStarts
from firmware_bridge.outbox.gathering import Gathering
from firmware_bridge.outbox.outbox import Outbox
from firmware_bridge.protocols.board_frame import BoardFraming, acknowledgement_of
from firmware_bridge.protocols.frame import BoardIdentity, Frame, Framing
from firmware_bridge.protocols.lines import LineFraming
from firmware_bridge.protocols.text import csv_line_of, json_line, key_value_line
from firmware_bridge.readings.publications import Numbering, Publication, publications_of
from firmware_bridge.serial.identity import path_of
from firmware_bridge.serial.link import PortLost, SerialLink
from firmware_bridge.serial.status import PortStatus
from firmware_bridge.settings import BOARD_DEVICE_PREFIX, PortSettings

logger = logging.getLogger(__name__)

# Opening empties the kernel's buffer; what comes sooner after it is the rest of a line.
MID_LINE_SECONDS = 0.02
# A line that stays silent this long will not complete what it has begun.
IDLE_SECONDS = 1.0
# A port that opens and fails at once must not start its back-off anew each time.
STEADY_SECONDS = 5.0
# After an error of the bridge's own: a board sends what caused it again each half second.
FAILURE_BACKOFF_SECONDS_MAX = 2.0
# Tracebacks of different places; an error that comes again is counted.
FAILURES_TOLD_MAX = 8


class Port:
    """`run` does not return by itself. `next_sequence` numbers the lines of a device."""

    def __init__(
        self,
        settings: PortSettings,
        outbox: Outbox,
        control: ControlSocket,
        next_sequence: Callable[[str], int],
    ) -> None:
        self._settings = settings
        self._outbox = outbox
        self._control = control
        self._next_sequence = next_sequence
        self._framing = framing_of(settings)
        self._dropping = False
        self._gathering = Gathering()
        self._failures_told: list[traceback.FrameSummary] = []
        self._status = PortStatus(
            settings.name, settings.framing, settings.path or f"usb:{settings.usb}"
        )

    def status(self) -> dict[str, object]:
        return self._status.as_json(self._framing.tally)

    async def run(self) -> None:
        """What goes wrong in here ends the reading of this port, which begins again."""
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
            try:
                link = await self._open()
                opened_at = time.monotonic()
                try:
                    self._note_found(link)
                    await self._read(link, opened_at)
                finally:
                    link.close()
            except PortLost as lost:
                self._note_lost(str(lost), was_open=opened_at is not None)
            if opened_at is not None and time.monotonic() - opened_at > STEADY_SECONDS:
                backoff.reset()
            await backoff.wait()

    async def _open(self) -> SerialLink:
        """In a thread, because opening may block; cancelled, nothing stays open."""

        def open_link() -> SerialLink:
            return SerialLink(path_of(self._settings), self._settings.line)

        opening = asyncio.ensure_future(asyncio.to_thread(open_link))
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            with contextlib.suppress(PortLost):
                (await opening).close()
            raise

    async def _read(self, link: SerialLink, opened_at: float) -> None:
        can_wait = self._settings.framing == "board"
        first = True
        while True:
            data = await self._next_data(link)
            if first:
                soon = time.monotonic() - opened_at < MID_LINE_SECONDS
                self._framing.begin(mid_line=soon and link.may_cut_lines)
                first = False
            self._status.bytes_read += len(data)
            for frame in self._framing.feed(data) if data else self._framing.flush():
                self._take(frame, link)
            # A line that always has something must not keep the others and MQTT from their turn.
            await asyncio.sleep(0)
            if self._outbox.behind:
                await self._outbox.wait_for_commit()
            if can_wait and self._outbox.full:
                await self._outbox.wait_for_room()

    async def _next_data(self, link: SerialLink) -> bytes:
        """The next bytes; none at all when the line has been silent for a while."""
        try:
            async with asyncio.timeout(IDLE_SECONDS):
                return await link.read()
        except TimeoutError:
            return b""

    def _take(self, frame: Frame, link: SerialLink) -> None:
        self._status.frames += 1
        arrival_seconds = time.time()
        if frame.identity is not None:
            self._take_board_frame(frame, frame.identity, link, arrival_seconds)
            return
        device = self._settings.device_name
        # Also a reading that finds no room takes its number: the gap shows that it is missing.
        numbering = Numbering(device, self._outbox.start_number, self._next_sequence(device))
        if self._outbox.full:
            self._note_dropped("outbox_full", len(frame.quantities))
            return
        self._dropping = False
        self._outbox.submit(
            publications_of(
                frame, numbering, arrival_seconds=arrival_seconds, units=self._settings.units
            )
        )
        self._status.note(frame, numbering, arrival_seconds)

    def _take_board_frame(
        self, frame: Frame, identity: BoardIdentity, link: SerialLink, arrival_seconds: float
    ) -> None:
        if not self._outbox.knows_room_for(identity.device):
            self._note_dropped("too_many_devices", len(frame.quantities))
            return
        device = f"{BOARD_DEVICE_PREFIX}{identity.device:08x}"

        def publications(boot: int) -> list[Publication]:
            return publications_of(
                frame,
                Numbering(device, boot, identity.sequence),
                arrival_seconds=arrival_seconds,
                units=self._settings.units,
            )

        try:
            durable, placement = self._outbox.submit_frame(
                identity, frame.contents_digest(), self._settings.name, publications
            )
        except TooManyStarts:
            self._note_dropped("too_many_starts", len(frame.quantities))
            return
        durable.add_done_callback(lambda done: self._acknowledge(done, identity, link))
        if not placement.is_new:
            self._status.duplicates += 1
            return
        durable.add_done_callback(
            lambda _: self._gathering.acknowledge(identity.device, time.monotonic())
        )
        if not self._gathering.take(identity.device, time.monotonic()):
            self._outbox.commit_now()
        if placement.begins and placement.start.repeat:
            self._note_repeated_start(device, placement)
        numbering = Numbering(device, placement.published_boot, identity.sequence)
        self._status.note(frame, numbering, arrival_seconds)

    def _note_repeated_start(self, device: str, placement: Placement) -> None:
        repeat = placement.start.repeat
        self._status.repeated_starts += 1
        # A board that does it all the time fills no log: the 1st, 2nd, 4th, 8th ... is told.
        if repeat.bit_count() == 1:
            logger.warning(
                "serial port %s: %s counts from the beginning again in its start %d; this is taken "
                "for another start and published as boot %d: was it flashed again or replaced, "
                "or do two boards have one number?",
                self._settings.name,
                device,
                placement.start.boot,
                placement.published_boot,
            )

    def _acknowledge(
        self, durable: "asyncio.Future[None]", identity: BoardIdentity, link: SerialLink
    ) -> None:
        if not durable.cancelled() and not link.write(acknowledgement_of(identity)):
            # The board sends the frame again and is answered then.
            self._status.dropped["acknowledgement"] += 1

    def _note_dropped(self, reason: str, count: int) -> None:
        self._status.dropped[reason] += count
        if not self._dropping:
            logger.error("serial port %s: readings are dropped (%s)", self._settings.name, reason)
        self._dropping = True

    def _note_failure(self, reading: "asyncio.Task[None]") -> None:
        """An error that nothing here expects: told with its traceback, once for each place."""
        error = reading.exception()
        assert error is not None, "a port is read until it is cancelled"
        tally = self._framing.tally
        self._framing = framing_of(self._settings)
        self._framing.tally = tally
        self._status.failures += 1
        self._note_lost(f"an error of the bridge: {error!r:.200}", was_open=True)
        place = traceback.extract_tb(error.__traceback__)[-1]
        if place in self._failures_told or len(self._failures_told) >= FAILURES_TOLD_MAX:
            return
        self._failures_told.append(place)
        logger.error(
            "serial port %s: %s:%d raised; the port begins again, the others go on; please report",
            self._settings.name,
            place.filename,
            place.lineno,
            exc_info=error,
        )

    def _note_found(self, link: SerialLink) -> None:
        self._status.trouble = None
        self._status.state = "open"
        self._status.path = link.path
        logger.info("serial port %s: open on %s", self._settings.name, link.path)
        self._control.observe("serial_port_found", self._settings.name, link.path)

    def _note_lost(self, trouble: str, *, was_open: bool) -> None:
        if was_open:
            self._status.state = "lost"
            self._control.observe("serial_port_lost", self._settings.name, trouble)
        if trouble != self._status.trouble:
            logger.warning("serial port %s: %s; trying again", self._settings.name, trouble)
        self._status.trouble = trouble


def framing_of(settings: PortSettings) -> Framing:
    match settings.framing:
        case "json":
            return LineFraming(json_line, can_mistake_part_of_line=False)
        case "key_value":
            return LineFraming(key_value_line, can_mistake_part_of_line=True)
        case "csv":
            return LineFraming(csv_line_of(settings.columns), can_mistake_part_of_line=True)
        case "nmea":
            # pynmeagps takes two MB of memory, which a gateway without such a sensor keeps free.
            from firmware_bridge.protocols.nmea import NmeaFraming  # noqa: PLC0415

            return NmeaFraming()
        case "board":
            return BoardFraming()
