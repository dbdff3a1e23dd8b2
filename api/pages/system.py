"""The page about the gateway itself: counters, session log, SD card, and charts."""

from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import APIRouter, Depends, Query, Request
from fastapi.responses import HTMLResponse, Response

from api.alarms.conditions.certificate_levels import level_of_certificate
from api.alarms.conditions.condition import Level
from api.connections.certificate import ServedCertificate
from api.drawing.chart import Chart, chart_of
from api.history.gateway_series import GATEWAY
from api.history.history import History
from api.history.rings import Ring
from api.login.admission import VIEWERS
from api.models.broker import BrokerStatus, Certificate
from api.pages.backup import backup_of
from api.pages.page import down_page, rendered
from api.pages.sensors import RINGS_BY_SPAN, Span
from api.rest.history import history_of
from api.rest.status import card_of, observer_of
from api.status.control_socket import BrokerProblem
from api.wording import address_of

system_page = APIRouter(include_in_schema=False, default_response_class=HTMLResponse)

_NAMES: Final = {
    "messages_in": "Messages received",
    "messages_out": "Messages delivered",
    "queued_messages": "Messages in queues",
    "delivery_seconds": "Time from last byte to PUBCOMP",
    "commit_p50": "Commit, median",
    "commit_p99": "Commit, 99th percentile",
    "connections": "Connections",
    "upload_waiting": "Segments to upload",
    "disk_free": "Free disk space",
    "disk_written": "Written to disk",
    "cpu": "Processor",
    "memory": "Memory in use",
    "temperature": "Temperature",
}
"""Titles of the series, in the order of the page."""


@dataclass(frozen=True)
class NamedChart:
    name: str
    chart: Chart


@dataclass(frozen=True)
class NamedCertificate:
    where: str
    """The address of the listener that uses the certificate, or `this page`."""
    certificate: Certificate
    level: Level


@system_page.get("/system", dependencies=[Depends(VIEWERS)])
async def system(request: Request, span: Annotated[Span, Query()] = "hour") -> Response:
    """Show the broker's counters, the session log, the SD card, and the gateway's charts."""
    history = history_of(request)
    try:
        overview = await observer_of(request).overview()
    except BrokerProblem as problem:
        return down_page(request, problem)
    now_ms = overview.broker.time_ms
    return rendered(
        request,
        "system.html",
        overview=overview,
        broker=overview.broker,
        now_ms=now_ms,
        card=card_of(request),
        certificates=_certificates_of(request, overview.broker),
        curves=await _charts_of(history, RINGS_BY_SPAN[span], now_ms=now_ms),
        span=span,
        spans=list(RINGS_BY_SPAN),
        history_problem=history.problem,
        may_download=backup_of(request) is not None,
    )


def _certificates_of(request: Request, broker: BrokerStatus) -> list[NamedCertificate]:
    """Return the certificates of the broker's listeners and of this web server.

    They are sorted by the time at which they expire, the earliest first.
    """
    found = [
        _named(address_of(each.model_copy(update={"certificate": None})), each.certificate)
        for each in broker.listeners
        if each.certificate is not None
    ]
    own = request.app.state.certificate
    if own is not None:
        assert isinstance(own, ServedCertificate)
        found.append(_named("this page", own.state))
    return sorted(found, key=lambda each: each.certificate.not_after_ms)


def _named(where: str, certificate: Certificate) -> NamedCertificate:
    level = Level.GOOD
    if certificate.problem is not None:
        level = level_of_certificate(certificate.days_left, is_unused=certificate.unused)
    return NamedCertificate(where, certificate, level)


async def _charts_of(history: History, ring: Ring, *, now_ms: int) -> list[NamedChart]:
    from_ms = max(0, now_ms - 1000 * ring.span_seconds)
    found = []
    for name, words in _NAMES.items():
        curve = await history.curve(GATEWAY + name, ring, from_ms=from_ms, to_ms=now_ms)
        chart = chart_of(curve, words, now_ms=now_ms)
        if chart is not None:
            found.append(NamedChart(words, chart))
    return found
