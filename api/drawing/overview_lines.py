"""Writes the summary lines of the overview page, one for each part of the gateway.

Some lines have a chart. This module does no I/O.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from api.drawing.chart import Chart, chart_of
from api.history.gateway_series import GATEWAY
from api.history.history import Curve
from api.status.observer import Overview
from api.wording import bytes_of, count_of, counted_of, duration_of, value_of

CurveOf = Callable[[str], Curve]
"""Function that returns the last hour of a series by its name."""


@dataclass(frozen=True)
class Line:
    """A summary line on the overview page, about one part of the gateway."""

    name: str
    address: str
    text: str
    is_bad: bool = False
    chart: Chart | None = None


def lines_of(overview: Overview, curve_of: CurveOf) -> Iterator[Line]:
    """Yield the summary lines, the most important first.

    `curve_of` is a function that returns the points of a series in the last hour.
    """
    yield _messages(overview, curve_of)
    yield _clients(overview)
    yield from _readings(overview, curve_of)
    yield _upload(overview)
    if overview.uplink.status is not None:
        yield _uplink(overview)
    if overview.broker.disk is not None:
        disk = overview.broker.disk
        text = f"{bytes_of(disk.free_bytes)} of {bytes_of(disk.total_bytes)} free"
        chart = _chart("disk_free", "free disk space", overview, curve_of)
        yield Line("Disk", "/system", text, is_bad=disk.full, chart=chart)


def _messages(overview: Overview, curve_of: CurveOf) -> Line:
    broker = overview.broker
    rates = [_latest(curve_of(GATEWAY + name)) for name in ("messages_in", "messages_out")]
    parts = []
    if None not in rates:
        came, went = (value_of(round(rate or 0.0, 1)) for rate in rates)
        parts.append(f"{came} in and {went} out per second")
    parts.append(f"{count_of(broker.queued.messages)} queued")
    dropped = sum(broker.messages.dropped.values())
    parts.append(f"{count_of(dropped)} dropped" if dropped else "none dropped")
    chart = _chart("messages_in", "messages per second", overview, curve_of)
    return Line("Messages", "/system", ", ".join(parts), is_bad=bool(dropped), chart=chart)


def _clients(overview: Overview) -> Line:
    sessions, connections = overview.broker.sessions, overview.broker.connections
    text = (
        f"{count_of(sessions.connected)} connected of {counted_of(sessions.total, 'session')}, "
        f"{count_of(connections.open)} of {counted_of(connections.limit, 'connection')} open"
    )
    return Line("Clients", "/clients", text)


def _readings(overview: Overview, curve_of: CurveOf) -> Iterator[Line]:
    bridge = overview.serial.status
    if bridge is None:
        return
    text = (
        f"{count_of(bridge.outbox.published)} published, {count_of(bridge.outbox.waiting)} waiting"
    )
    if bridge.outbox.delivery_seconds is not None:
        milliseconds = round(1000 * bridge.outbox.delivery_seconds)
        text += f", delivered in {count_of(milliseconds)} ms"
    chart = _chart("delivery_seconds", "delivery time", overview, curve_of)
    yield Line("Readings", "/sensors", text, is_bad=not bridge.mqtt.connected, chart=chart)


def _upload(overview: Overview) -> Line:
    upload = overview.upload.status
    if upload is None:
        return Line(
            "Uploads", "/system", overview.upload.problem or "The uploader has not reported"
        )
    text = (
        f"{counted_of(upload.sent.count, 'segment')} sent, {count_of(upload.sealed.count)} waiting"
    )
    if upload.last_upload_ms is not None:
        seconds = max(0.0, (overview.broker.time_ms - upload.last_upload_ms) / 1000)
        text += f", the last {duration_of(seconds)} ago"
    return Line("Uploads", "/system", text, is_bad=upload.error is not None)


def _uplink(overview: Overview) -> Line:
    uplink = overview.uplink.status
    assert uplink is not None
    state = "connected" if uplink.remote.connected else "not connected"
    waiting = uplink.out.waiting + uplink.out.in_flight
    text = f"{state}, {count_of(uplink.out.forwarded)} sent, {count_of(waiting)} waiting"
    return Line("Uplink", "/system", text, is_bad=not uplink.remote.connected)


def _latest(curve: Curve) -> float | None:
    return curve.points[-1].last if curve.points else None


def _chart(name: str, words: str, overview: Overview, curve_of: CurveOf) -> Chart | None:
    return chart_of(curve_of(GATEWAY + name), words, now_ms=overview.broker.time_ms, bins=100)
