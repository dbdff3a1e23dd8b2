"""The runs of `make powercut`: our broker under load, another broker, or the serial line."""

from collections import Counter
from collections.abc import Callable, Iterator
from statistics import median
from typing import Protocol

from tests.instruments.powercut.aftermath import examine
from tests.instruments.powercut.campaign import AtAFault, Campaign, workplace
from tests.instruments.powercut.clients import Verdict
from tests.instruments.powercut.machine import Cut
from tests.instruments.powercut.mounted_disk import MountedDisk, new_directory
from tests.instruments.powercut.serial_campaign import SerialCampaign
from tests.instruments.powercut.subjects import Mosquitto, Oncegate

Rows = Iterator[tuple[str, str]]
Counts = Iterator[tuple[str, int | None]]


class Trial(Protocol):
    """A campaign and its disks, from the first start to the report."""

    disks: list[MountedDisk]
    must_hold: bool
    """True if any fault is a failure. Otherwise faults are only counted."""

    verdict: Verdict
    cuts: list[Cut]

    async def run(self, report: Callable[[], None]) -> str | None:
        """Run the campaign. Return the report on the session log afterwards."""

    def progress(self) -> str:
        """Return the progress in a few words."""

    def remove(self) -> None:
        """Stop all processes, and keep the logs next to the first disk."""

    def rows(self) -> Rows:
        """Return the totals of what was transferred."""

    def counts(self) -> Counts:
        """Return the counts that must be zero, or None for each that was not counted."""


class BrokerTrial:
    """Publishers and subscribers around one broker."""

    def __init__(
        self,
        seed: int,
        cut_count: int,
        *,
        is_mosquitto: bool,
        is_lying: bool,
        faults: tuple[str, ...] = (),
    ) -> None:
        disk = MountedDisk(new_directory())
        self.disks = [disk]
        self.must_hold = not is_mosquitto and not is_lying
        self._oncegate: Oncegate | None = None
        if is_mosquitto:
            subject: Oncegate | Mosquitto = Mosquitto(workplace(disk.directory), disk.directory)
        else:
            subject = self._oncegate = Oncegate(workplace(disk.directory))
        at_a_fault = AtAFault.FAIL if self.must_hold else AtAFault.GO_ON
        self.campaign = Campaign(disk, subject, seed, cut_count, is_lying, at_a_fault, faults)
        self.verdict, self.cuts = self.campaign.verdict, self.campaign.cuts

    async def run(self, report: Callable[[], None]) -> str | None:
        campaign = self.campaign
        await campaign.run(report)
        if not self.must_hold or self._oncegate is None or not self.verdict.is_clean():
            return None
        log = await examine(
            self._oncegate, published=campaign.published, disk_failed=bool(campaign.faults)
        )
        return f"{log.event_count} events, no gap, every message once"

    def progress(self) -> str:
        verdict = self.verdict
        return (
            f"{verdict.acknowledged} acknowledged, {verdict.doubled} doubled, "
            f"{verdict.forgotten} forgotten"
        )

    def remove(self) -> None:
        subject = self.campaign.subject
        (self.disks[0].directory / "broker.log").write_text(subject.log())
        subject.remove()

    def rows(self) -> Rows:
        starts = [cut.start_seconds for cut in self.cuts if cut.start_seconds is not None]
        if starts:
            yield "start after a cut", _text_of(starts)
        for what, count in self.campaign.faults_met.items():
            yield what, str(count)
        yield "messages acknowledged", str(self.verdict.acknowledged)
        given = sum(
            len(numbers)
            for subscriber in self.campaign.subscribers
            for numbers in subscriber.seen.values()
        )
        yield "given to subscribers", str(given)

    def counts(self) -> Counts:
        verdict = self.verdict
        yield "acknowledged and lost", verdict.lost if self.campaign.is_counted else None
        yield "QoS 2 doubled", verdict.doubled
        yield "sessions forgotten", verdict.forgotten
        yield "out of order", verdict.disordered
        yield "starts that found damage", verdict.damaged


class SerialTrial:
    """Sensors, bridge, broker and a subscriber. Bridge and broker are cut together and alone."""

    def __init__(
        self, seed: int, cut_count: int, *, is_lying: bool, faults: tuple[str, ...] = ()
    ) -> None:
        broker_disk, bridge_disk = MountedDisk(new_directory()), MountedDisk(new_directory())
        self.disks = [broker_disk, bridge_disk]
        self.must_hold = not is_lying
        self.campaign = SerialCampaign(broker_disk, bridge_disk, seed, cut_count, is_lying, faults)
        self.verdict, self.cuts = self.campaign.verdict, self.campaign.cuts

    async def run(self, report: Callable[[], None]) -> str | None:
        campaign = self.campaign
        await campaign.run(report)
        if not self.must_hold or not self.verdict.is_clean():
            return None
        published = len(campaign.subscriber.readings)
        log = await examine(campaign.broker, published=published, disk_failed=bool(campaign.faults))
        return f"{log.event_count} events, no gap, every reading once"

    def progress(self) -> str:
        accepted = sum(len(board.accepted) for board in self.campaign.boards)
        return f"{accepted} frames, {len(self.campaign.subscriber.readings)} readings"

    def remove(self) -> None:
        for name, subject in self.campaign.subjects.items():
            (self.disks[0].directory / f"{name}.log").write_text(subject.log())
        self.campaign.remove()

    def rows(self) -> Rows:
        campaign = self.campaign
        machines = Counter(cut.machines for cut in self.cuts)
        machines["bridge+broker"] //= 2
        yield "cut", ", ".join(f"{count} {names}" for names, count in machines.items())
        for name, starts in campaign.start_seconds.items():
            yield f"start of the {name}", _text_of(starts)
        for what, count in campaign.faults_met.items():
            yield what, str(count)
        readings = campaign.subscriber.readings
        yield "frames acknowledged to boards", str(sum(len(b.accepted) for b in campaign.boards))
        lines = {each[1:3] for each in readings if each.device == campaign.talker.name}
        yield "lines sent, and accepted", f"{campaign.talker.sent}, {len(lines)}"
        yield "readings given to the subscriber", str(len(readings))

    def counts(self) -> Counts:
        verdict, is_counted = self.verdict, self.campaign.is_counted
        yield "accepted and lost", verdict.lost if is_counted else None
        yield "doubled", verdict.doubled if is_counted else None
        yield "torn", verdict.torn if is_counted else None
        yield "out of order", verdict.disordered if is_counted else None
        yield "gaps in a start's lines", verdict.gaps if is_counted else None
        yield "sessions forgotten", verdict.forgotten
        yield "starts that found damage", verdict.damaged


def _text_of(seconds: list[float]) -> str:
    return f"{median(seconds):.1f} s median, {max(seconds):.1f} s max"
