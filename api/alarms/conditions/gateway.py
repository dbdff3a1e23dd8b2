"""Collects all alarm conditions of the gateway that are true now.

This module does no I/O.
"""

from collections.abc import Iterator

from api.alarms.conditions.broker import conditions_of_broker
from api.alarms.conditions.card import conditions_of_card
from api.alarms.conditions.certificate_levels import level_of_certificate
from api.alarms.conditions.condition import Condition
from api.alarms.conditions.programs import (
    conditions_of_serial,
    conditions_of_uplink,
    conditions_of_upload,
)
from api.alarms.conditions.thresholds import Thresholds
from api.models.broker import Certificate
from api.status.card import CardReport
from api.status.observer import Overview


def conditions_of(
    overview: Overview,
    card: CardReport | None,
    certificate: Certificate | None,
    thresholds: Thresholds,
) -> tuple[Condition, ...]:
    """Return all alarm conditions that are true now, the most severe first.

    Args:
        overview: the reports of the processes.
        card: the SD card's report, or None if the gateway does not run from the SD card image.
        certificate: the web page's own certificate, or None if the page does not use TLS.
        thresholds: the values of `[alarms]` in the configuration.
    """
    found = [*_all_of(overview, thresholds)]
    if card is not None:
        found += conditions_of_card(card, thresholds)
    if certificate is not None and certificate.problem is not None:
        sentence = f"This page's certificate: {certificate.problem}."
        level = level_of_certificate(certificate.days_left, is_unused=certificate.unused)
        found.append(Condition("page_certificate", "page", level, sentence))
    return tuple(sorted(found, key=lambda condition: condition.level, reverse=True))


def _all_of(overview: Overview, thresholds: Thresholds) -> Iterator[Condition]:
    now_ms = overview.broker.time_ms
    yield from conditions_of_broker(overview.broker, thresholds)
    yield from conditions_of_serial(overview.serial, now_ms=now_ms)
    yield from conditions_of_upload(overview.upload, thresholds, now_ms=now_ms)
    yield from conditions_of_uplink(overview.uplink)
