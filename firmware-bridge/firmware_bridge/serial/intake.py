"""The intake of one port, which passes the readings of decoded frames to the outbox.

A board's frame is acknowledged when the outbox reports that the frame is durable. The port's
setting `when_full` determines what happens while the outbox is full. Either the port is not read,
or the outbox drops the port's oldest readings, or the intake drops new readings. Dropped readings
are counted, and leave a gap in `sequence`. A board's frame is acknowledged even if its readings are
dropped.
"""

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Final

from firmware_bridge.outbox.boards import Placement, TooManyStarts
from firmware_bridge.outbox.gathering import Gathering
from firmware_bridge.outbox.outbox import Outbox
from firmware_bridge.outbox.reading_dropper import FULL_BY_AGE, FULL_BY_BYTES
from firmware_bridge.protocols.frame import Frame
from firmware_bridge.readings.device_clock import checked_times, hours_off
from firmware_bridge.readings.kinds import Kinds
from firmware_bridge.readings.measurement import Quantities
from firmware_bridge.readings.numbering import BoardIdentity, Numbering
from firmware_bridge.readings.publications import Publication, publications_of
from firmware_bridge.readings.rules import Rules
from firmware_bridge.readings.seen import Seen
from firmware_bridge.serial.commands import Commands
from firmware_bridge.serial.link import Link
from firmware_bridge.serial.losses import Losses
from firmware_bridge.serial.presence import Presence
from firmware_bridge.serial.recent_frames import RecentFrames
from firmware_bridge.serial.settings import PortSettings
from firmware_bridge.serial.status import PortStatus

logger = logging.getLogger(__name__)

_REASONS: Final = {"bytes": FULL_BY_BYTES, "age": FULL_BY_AGE}


class Intake:
    """The intake of one port, which passes the port's readings to the outbox.

    `next_sequence` returns the next sequence number for a device that does not number its frames.
    If `commands` is None, no commands are sent to boards. `seen` records what devices have sent.
    """

    def __init__(
        self,
        settings: PortSettings,
        outbox: Outbox,
        next_sequence: Callable[[str], int],
        status: PortStatus,
        *,
        commands: Commands | None = None,
        seen: Seen | None = None,
    ) -> None:
        self._settings = settings
        self._outbox = outbox
        self._next_sequence = next_sequence
        self._gathering = Gathering()
        self._commands = commands
        self._seen = seen
        self._kinds = Kinds()
        self._rules = Rules(settings.readings)
        self.presence = Presence(settings.device_silent_seconds, settings.protocol.device_names)
        self.status = status
        self.losses = Losses(status)
        self.recent = RecentFrames()
        self._policy = settings.policy
        if self._policy == "drop_oldest":
            outbox.allow_drops(settings.name, self.losses.begin_dropping, self.losses.end_dropping)

    def use_kinds(self, kinds: Kinds) -> None:
        """Use `kinds` as the data types of the port's quantities: number, text or boolean.

        The types of new quantities are stored in the outbox.
        """
        self._kinds = kinds

    def _store_new_kinds(self) -> None:
        new = self._kinds.take_new()
        if new:
            self._outbox.note_kinds(self._settings.name, self._settings.framing, new)

    async def wait_until_accepted(self) -> None:
        """Wait until the port can be read again.

        The port must wait while too many readings are waiting for a commit. Depending on the
        setting `when_full`, it must also wait while the outbox is full.
        """
        if self._outbox.is_overloaded:
            await self._outbox.wait_for_commit()
        if self._has_to_wait():
            self.status.held = True
            try:
                await self._outbox.wait_for_room()
            finally:
                self.status.held = False

    def _has_to_wait(self) -> bool:
        full_by = self._outbox.full_by
        if full_by is None:
            return False
        # Even if its readings are dropped, a board's frame needs the disk to record its acceptance.
        return self._policy == "stop_reading" or (
            full_by == "disk" and self._settings.protocol.can_wait
        )

    def _reason_to_drop(self) -> str | None:
        """Return the reason why new readings must be dropped, or None if they can be stored."""
        full_by = self._outbox.full_by
        if full_by == "disk" and self._policy != "stop_reading":
            return "disk_full"  # Dropping older readings would not free disk space.
        return _REASONS[full_by] if full_by and self._policy == "drop_newest" else None

    def take(self, frame: Frame, link: Link) -> None:
        """Submit the readings of a frame to the outbox, or count them as dropped.

        A board's response to a command is passed to `commands`.
        """
        arrival_seconds = time.time()
        self.status.note_frame(arrival_seconds)
        self._store_new_kinds()
        if frame.identity is not None and frame.answer_code is not None:
            if self._commands is not None:
                self._commands.receive_answer(frame.identity, frame.answer_code, link.write)
            return
        if frame.identity is not None:
            self.presence.note(frame.identity.device_name)
            self._take_board_frame(frame, frame.identity, link, arrival_seconds)
            return
        quantities, out_of_range = self._rules.scaled(frame.quantities)
        if out_of_range:
            self.losses.note_dropped("out_of_range", out_of_range)
        if frame.device is not None:
            self.presence.note(frame.device)  # A device is present even if it sends no value.
        if quantities:
            self._take_other_frame(frame, quantities, arrival_seconds)

    def _checked(self, device: str, quantities: Quantities, arrival_seconds: float) -> Quantities:
        """Replace implausible times with the time of arrival, and return the quantities.

        If the device's clock is wrong, this is logged and shown in the status. The quantities are
        also recorded in `seen`.
        """
        checked, not_used = checked_times(quantities, arrival_seconds)
        self.status.note_clock(device, not_used)
        if not_used is not None:
            self.losses.note_clock(device, not_used)
        utc_offset = getattr(self._settings.protocol, "utc_offset", None)
        if utc_offset is not None and (hours := hours_off(checked, arrival_seconds)):
            self.losses.note_time_zone(device, hours, utc_offset + hours)
        if self._seen is not None:
            self._seen.note(self._settings.name, device, checked)
        return checked

    def _take_other_frame(
        self, frame: Frame, quantities: Quantities, arrival_seconds: float
    ) -> None:
        device = frame.device or self._settings.device_name
        if frame.part is not None:
            device = f"{device}-{frame.part}"
        self.presence.note(device)
        quantities = self._checked(device, quantities, arrival_seconds)
        now = time.monotonic()
        due = self._rules.due(device, quantities, now)
        if not due:
            return
        # A dropped reading also consumes a sequence number, so that the gap shows the loss.
        numbering = Numbering(device, self._outbox.start_number, self._next_sequence(device))
        reason = self._reason_to_drop()
        self._note_taken(reason, len(due))
        if reason is not None:
            return
        self._rules.note_published(device, due, now)
        self._outbox.submit(self._publications_of(due, numbering, arrival_seconds))
        self.status.note(replace(frame, quantities=due), numbering, arrival_seconds)

    def _take_board_frame(
        self, frame: Frame, identity: BoardIdentity, link: Link, arrival_seconds: float
    ) -> None:
        if not self._outbox.has_room_for(identity.device):
            self.losses.note_dropped("too_many_devices", len(frame.quantities))
            return
        if self._commands is not None:
            self._commands.note_board(identity, link.write)
        device = identity.device_name
        quantities, out_of_range = self._rules.scaled(frame.quantities)
        quantities = self._checked(device, quantities, arrival_seconds)
        now = time.monotonic()
        due = self._rules.due(device, quantities, now)
        reason = self._reason_to_drop()

        def publications(boot: int) -> list[Publication]:
            numbering = Numbering(device, boot, identity.sequence)
            return self._publications_of(due, numbering, arrival_seconds) if reason is None else []

        try:
            durable, placement = self._outbox.submit_frame(
                identity, frame.contents_digest(), self._settings.name, publications
            )
        except TooManyStarts:
            self.losses.note_dropped("too_many_starts", len(frame.quantities))
            return
        durable.add_done_callback(lambda done: self._acknowledge(done, frame, link))
        if not placement.is_new:
            self.status.duplicates += 1
            return
        self._note_taken(reason, len(due))
        if out_of_range:
            self.losses.note_dropped("out_of_range", out_of_range)
        self._commit_or_delay(identity.device, durable)
        if placement.begins and placement.start.repeat:
            self._note_repeated_start(device, placement)
        if reason is None:
            self._rules.note_published(device, due, now)
            numbering = Numbering(device, placement.published_boot, identity.sequence)
            self.status.note(replace(frame, quantities=due), numbering, arrival_seconds)

    def _commit_or_delay(self, device: int, durable: "asyncio.Future[None]") -> None:
        """Commit a board's new frame immediately, or delay its commit to include later frames.

        `durable` is a future that is done when the frame is durable.
        """
        durable.add_done_callback(lambda _: self._gathering.acknowledge(device, time.monotonic()))
        if not self._gathering.take(device, time.monotonic()):
            self._outbox.commit_now()

    def _note_taken(self, reason: str | None, count: int) -> None:
        """Record that `count` new readings were dropped, or that they were stored.

        `reason` is the reason for dropping them, or None if they were stored.
        """
        if reason is not None:
            self.losses.begin_dropping(reason, count)
        elif self._policy != "drop_oldest" or self.status.dropping == "disk_full":
            self.losses.end_dropping()

    def _publications_of(
        self, quantities: Quantities, numbering: Numbering, arrival_seconds: float
    ) -> list[Publication]:
        publications = publications_of(
            quantities,
            numbering,
            arrival_seconds=arrival_seconds,
            units=self._settings.units,
            readings=self._settings.readings,
            port=self._settings.name,
        )
        if self._policy != "drop_oldest":
            return publications
        return [replace(each, gives_way_of=self._settings.name) for each in publications]

    def _acknowledge(self, durable: "asyncio.Future[None]", frame: Frame, link: Link) -> None:
        if not durable.cancelled() and not link.write(frame.acknowledgement):
            # The board sends the frame again, and that copy is acknowledged.
            self.losses.note_dropped("acknowledgement")

    def _note_repeated_start(self, device: str, placement: Placement) -> None:
        repeat = placement.start.repeat
        self.status.repeated_starts += 1
        # Only the 1st, 2nd, 4th, 8th ... repetition is logged, so that the log does not fill up.
        if repeat.bit_count() == 1:
            logger.warning(
                "serial port %s: %s has begun to count again in its start %d; this is treated as "
                "another start and published as boot %d: was the board flashed or replaced, or do "
                "two boards have the same number?",
                self._settings.name,
                device,
                placement.start.boot,
                placement.published_boot,
            )
