"""Verdict about the gateway's state, with notices. Pure.

There is one verdict for everything that was reported. Each notice is one sentence that a person can
act on. A part that was never started (no serial port, no uploader) is mentioned, but does not
worsen the verdict.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from api import limits
from api.card import CardFacts, CardReport
from api.models.bridge import BridgeStatus
from api.models.broker import BrokerStatus
from api.models.reports import Report, SerialReport, UplinkReport, UploadReport
from api.models.uploader import UploaderStatus
from api.notice import Level, Notice
from api.observer import Overview
from api.port_notices import notices_of_port
from api.wording import bytes_of, counted_of, duration_of, sentence_of, visible_of

_DISK_IS_FULL = "The disk is full"
"""Beginning of a warning of the broker for which the page has its own, with numbers."""


UPDATE_NEEDS_A_LOOK: Final = frozenset({"failed", "returned", "interrupted", "unhealthy"})
"""Outcomes of an update that was wanted and did not succeed."""


@dataclass(frozen=True, kw_only=True)
class Verdict:
    level: Level
    headline: str
    notices: tuple[Notice, ...]


def verdict_of(
    overview: Overview, card: CardReport | None = None, certificate_problem: str | None = None
) -> Verdict:
    """Return the verdict about the whole gateway. `card` is None without the SD card's image.

    `certificate_problem` is the problem of this page's own certificate, or None.
    """
    found = [*_notices_of(overview), *(_notices_of_card(card) if card is not None else ())]
    if certificate_problem is not None:
        found.append(Notice(Level.ATTENTION, f"This page's certificate: {certificate_problem}."))
    notices = tuple(sorted(found, key=lambda notice: notice.level, reverse=True))
    if notices and notices[0].level is Level.BAD:
        return Verdict(level=Level.BAD, headline="The disk is full", notices=notices)
    attention_count = sum(notice.level is Level.ATTENTION for notice in notices)
    if attention_count == 0:
        return Verdict(level=Level.GOOD, headline="All is well", notices=notices)
    headline = f"Running, {counted_of(attention_count, 'warning')}"
    return Verdict(level=Level.ATTENTION, headline=headline, notices=notices)


def _notices_of(overview: Overview) -> Iterator[Notice]:
    yield from _notices_of_broker(overview.broker)
    yield from _notices_of_serial(overview.serial, now_ms=overview.broker.time_ms)
    yield from _notices_of_upload(overview.upload, now_ms=overview.broker.time_ms)
    yield from _notices_of_uplink(overview.uplink)


def _notices_of_broker(broker: BrokerStatus) -> Iterator[Notice]:
    if broker.state != "running":
        yield Notice(Level.ATTENTION, f"The broker is {visible_of(broker.state)}.")
    yield from _notices_of_disk(broker)
    if broker.clock == "unsynchronised":
        yield Notice(
            Level.ATTENTION,
            "The gateway's clock is not synchronised: times shown here and stored with readings "
            "may be wrong, and the rows say so. Connect the gateway to a time server (NTP).",
        )
    for warning in broker.warnings:
        if not (_is_full(broker) and warning.startswith(_DISK_IS_FULL)):
            yield Notice(Level.ATTENTION, warning)
    detail = broker.store.detail
    if broker.store.recovery == "salvaged" and not any(
        detail is None or detail in warning for warning in broker.warnings
    ):
        yield Notice(
            Level.ATTENTION,
            f"The data on disk were damaged at the last start: {detail or 'see the log'}.",
        )


def _is_full(broker: BrokerStatus) -> bool:
    return broker.disk is not None and (broker.disk.full or broker.disk.waits)


def _notices_of_disk(broker: BrokerStatus) -> Iterator[Notice]:
    disk = broker.disk
    if disk is None or not _is_full(broker):
        return
    since = (
        f" for {duration_of(max(broker.time_ms - disk.full_since_ms, 0) / 1000)}"
        if disk.full_since_ms is not None
        else ""
    )
    meanwhile = (
        "What was received last cannot be written yet, and is not acknowledged"
        if disk.waits
        else "What is there is delivered and uploaded"
    )
    yield Notice(
        Level.BAD,
        f"Nothing new has been accepted{since}: {bytes_of(disk.free_bytes)} of "
        f"{bytes_of(disk.total_bytes)} are free, and {bytes_of(disk.free_min)} are kept free. "
        f"{meanwhile}. Free space, or use a larger disk: the gateway then continues by itself.",
    )


def _notices_of_serial(report: SerialReport, *, now_ms: int) -> Iterator[Notice]:
    yield from _notices_of_report(
        report, who="bridge", without_it="so no serial port is read", verb="bridge"
    )
    if report.status is not None and not _is_stale(report):
        yield from _notices_of_bridge(report.status)
        for port in report.status.ports:
            yield from notices_of_port(port, now_ms=now_ms)


def _notices_of_bridge(status: BridgeStatus) -> Iterator[Notice]:
    if not status.mqtt.connected:
        fault = status.mqtt.fault
        reason = f": {sentence_of(fault).rstrip('.')}" if fault else ""
        yield Notice(
            Level.ATTENTION,
            f"The bridge is not connected to the broker at {visible_of(status.mqtt.address)}"
            f"{reason}; "
            f"{counted_of(status.outbox.waiting, 'reading')} waiting in its outbox.",
        )


def _notices_of_upload(report: UploadReport, *, now_ms: int) -> Iterator[Notice]:
    yield from _notices_of_report(
        report, who="uploader", without_it="so the session log stays here", verb="upload"
    )
    if report.status is not None and not _is_stale(report):
        yield from _notices_of_uploader(report.status, now_ms=now_ms)


def _notices_of_uploader(status: UploaderStatus, *, now_ms: int) -> Iterator[Notice]:
    if status.failing_since_ms is not None or status.error is not None:
        since = (
            f" for {duration_of(max(now_ms - status.failing_since_ms, 0) / 1000)}"
            if status.failing_since_ms is not None
            else ""
        )
        reason = (status.error or "no reason was given").rstrip(".")
        yield Notice(
            Level.ATTENTION,
            f"Uploading has failed{since}: {reason}. Nothing is lost: "
            f"{counted_of(status.sealed.count, 'segment')} waiting here, and tried again.",
        )


def _notices_of_uplink(report: UplinkReport) -> Iterator[Notice]:
    if report.problem is None and report.age_seconds is None:
        return  # there is none, as on most gateways
    yield from _notices_of_report(
        report, who="uplink", without_it="so nothing goes upstream", verb="uplink"
    )
    if report.status is None or _is_stale(report):
        return
    for name, side, way in (
        ("the upstream broker", report.status.remote, report.status.out),
        ("this gateway's broker", report.status.local, report.status.into),
    ):
        if not side.connected:
            reason = f": {visible_of(side.fault)}" if side.fault else ""
            yield Notice(
                Level.ATTENTION,
                f"The uplink is not connected to {name} at {visible_of(side.address)}{reason}; "
                f"{counted_of(way.waiting, 'message')} waiting for it.",
            )
        if way.refused or way.too_large:
            yield Notice(
                Level.ATTENTION,
                f"Messages were dropped because {name} does not take them: "
                f"{way.refused} refused, {way.too_large} too large. The uplink's log has their "
                "topics.",
            )


def _notices_of_report(report: Report, *, who: str, without_it: str, verb: str) -> Iterator[Notice]:
    if report.problem is not None:
        yield Notice(Level.ATTENTION, report.problem)
    elif report.age_seconds is None:
        yield Notice(
            Level.INFORMATION,
            f"The {who} has not reported since the broker started, {without_it} "
            f"(`oncegate {verb}` starts it).",
        )
    elif _is_stale(report):
        yield Notice(
            Level.ATTENTION,
            f"The {who} has been silent for {duration_of(report.age_seconds)}; "
            f"what is shown of it is as old. Look at its log, or start `oncegate {verb}`.",
        )


def _is_stale(report: Report) -> bool:
    return report.age_seconds is not None and report.age_seconds > limits.REPORT_AGE_SECONDS_MAX


def _notices_of_card(card: CardReport) -> Iterator[Notice]:
    if card.problem is not None:
        yield Notice(Level.ATTENTION, f"{card.problem}.")
    if card.facts is not None:
        yield from _notices_of_facts(card.facts)


def _notices_of_facts(facts: CardFacts) -> Iterator[Notice]:
    update, provisioning = facts.update, facts.provisioning
    if facts.note:
        yield Notice(Level.ATTENTION, f"{facts.note}.")
    if update is not None and update.state != "kept":
        level = Level.ATTENTION if update.state in UPDATE_NEEDS_A_LOOK else Level.INFORMATION
        sentences = (update.sentence, update.advice)
        yield Notice(level, " ".join(f"{each}." for each in sentences if each))
    if provisioning is not None and not provisioning.taken:
        # The first line has the result, the second what is wrong.
        yield Notice(Level.ATTENTION, " ".join(provisioning.lines[:2]))
