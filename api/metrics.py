"""`/metrics`: the gateway's counters for Prometheus and OpenMetrics scrapers. Read-only.

The values are those of the REST interface, from the same answer of the broker, with the same access
rules. There are no series per client, topic or device. The number of series depends only on the
configuration, apart from reasons, of which at most `METRIC_REASONS_MAX` have a series each.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from fastapi import APIRouter, Depends, Request, Response

from api import limits
from api.admission import VIEWERS
from api.models.bridge import BridgeStatus, Port
from api.models.broker import BrokerStatus, Journal
from api.models.reports import Report
from api.models.uplink import UplinkStatus
from api.models.uploader import UploaderStatus
from api.observer import Overview
from api.rest import observer_of

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

metrics = APIRouter(include_in_schema=False, dependencies=[Depends(VIEWERS)])
"""Not part of the REST interface, whose answers are JSON: docs/metrics.md."""

_COUNTERS_OF_PORT: Final = {
    "bytes": "Bytes read.",
    "frames": "Frames read.",
    "readings": "Readings taken.",
    "overruns": "Times that bytes were lost before the bridge could read them.",
    "resyncs": "Times that frames were read again after damage.",
    "reopened": "Openings after the first.",
    "resets": "Openings for silence.",
    "repeated_starts": "Starts of boards that gave the numbers of an earlier one again.",
}
_GAUGES_OF_PORT: Final = {
    "damaged_share": "Damaged frames of all in the last minutes, 0 to 1.",
    "damage_warning": "1: that share is too large.",
    "devices_watched": "Devices to which device_silent_after applies.",
    "devices_silent": "Those that have sent nothing for longer.",
}
_REASONS_OF_PORT: Final = {
    "damaged": "Frames that were skipped, by reason.",
    "left_out": "Values of good frames that were not published, by reason.",
    "refused": "Requests that devices refused, by reason.",
    "dropped": "Readings that were not taken, by reason.",
    "line_errors": "What driver or serial server count, by kind.",
}
_COUNTERS_OF_UPLINK: Final = (
    "forwarded", "dropped_qos0", "expired", "refused", "too_large", "looped", "republished",
)  # fmt: skip


@metrics.get("/metrics")
async def metrics_of_gateway(request: Request) -> Response:
    """Return the metrics as text, in OpenMetrics format if the scraper accepts it."""
    # 0.7 MB of memory, which a gateway without a scraper saves.
    from prometheus_client.exposition import choose_encoder  # noqa: PLC0415
    from prometheus_client.registry import CollectorRegistry  # noqa: PLC0415

    overview = await observer_of(request).overview()
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(overview))
    encode, content_type = choose_encoder(request.headers.get("accept", ""))
    return Response(encode(registry), headers={"Content-Type": content_type})


class _Collector:
    """Adapter from one overview to the library's interface."""

    def __init__(self, overview: Overview) -> None:
        self._overview = overview

    def collect(self) -> Iterable["Metric"]:
        return families_of(self._overview)


def families_of(overview: Overview) -> Iterator["Metric"]:
    """Yield the metric families of the whole gateway."""
    yield from _of_broker(overview.broker)
    reports = {"bridge": overview.serial, "upload": overview.upload, "uplink": overview.uplink}
    yield from _of_reports(reports)
    if overview.serial.status is not None:
        yield from _of_bridge(overview.serial.status)
    if overview.upload.status is not None:
        yield from _of_uploader(overview.upload.status)
    if overview.uplink.status is not None:
        yield from _of_uplink(overview.uplink.status)


def _of_broker(broker: BrokerStatus) -> Iterator["Metric"]:
    yield _gauge("broker_info", "The broker's version.", [({"version": broker.version}, 1)])
    yield _value("broker_uptime_seconds", "Since the broker started.", broker.uptime_seconds)
    synchronised = int(broker.clock == "synchronised")
    yield _value("clock_synchronised", "1: by a time server.", synchronised)
    yield _value("connections_open", "Network connections.", broker.connections.open)
    yield _value("connections_limit", "How many there may be.", broker.connections.limit)
    yield _count("connections_accepted", "Connections accepted.", broker.connections.accepted)
    yield _count("connections_refused", "Connections refused.", broker.connections.refused)
    sessions = broker.sessions
    yield _value("sessions", "Sessions.", sessions.total)
    yield _value("sessions_connected", "Sessions with a connection.", sessions.connected)
    yield _value("sessions_persistent", "Sessions that outlive it.", sessions.persistent)
    yield _value("subscriptions", "Topic filters of all sessions.", broker.subscriptions)
    yield _value("retained_messages", "Retained messages.", broker.retained)
    for name, counted in (
        ("received", broker.messages.received),
        ("sent", broker.messages.sent),
    ):
        by_qos = {"0": counted.qos0, "1": counted.qos1, "2": counted.qos2}
        yield _counter(f"messages_{name}", f"PUBLISH packets {name}.", _by("qos", by_qos))
    dropped = _by("reason", broker.messages.dropped)
    yield _counter("messages_dropped", "Messages not delivered to a session.", dropped)
    operations = _by("command", broker.operations)
    yield _counter("operations", "What was done at the page.", operations)
    suppressed = broker.messages.duplicates_suppressed
    yield _count("messages_duplicates_suppressed", "QoS 2 PUBLISH that came again.", suppressed)
    yield _value("queued_messages", "Messages that wait for a session.", broker.queued.messages)
    yield _value("queued_bytes", "Their bytes.", broker.queued.bytes)
    queued = broker.queued
    yield _value("queue_memory_bytes", "Queues of clean sessions.", queued.memory_bytes)
    yield _value("queue_memory_limit_bytes", "Their limit.", queued.memory_limit_bytes)
    yield _value("queues_slowing", "Queues for which publishers wait.", queued.slowing)
    yield _value("queues_filling", "Queues that are 80 % full.", queued.filling)
    yield _value("inflight_messages", "Sent and not acknowledged.", broker.inflight)
    yield _value("awaiting_release", "QoS 2, received and not released.", broker.awaiting_release)
    errors = _by("kind", broker.errors)
    yield _counter("client_errors", "What clients did wrong, by kind.", errors)
    yield from _of_journal_and_disk(broker)


def _of_journal_and_disk(broker: BrokerStatus) -> Iterator["Metric"]:
    journal = broker.journal
    yield _count("commits", "Transactions, each with one fsync.", journal.batches)
    yield _value("commit_mean_seconds", "How long one takes.", journal.commit_ms_mean / 1000)
    yield _value("commit_max_seconds", "How long the longest took.", journal.commit_ms_max / 1000)
    if journal.commit_histogram is not None:
        yield _histogram("commit_seconds", "Commits by duration.", journal)
    yield _count("journal_facts", "Records written to the journal.", journal.facts)
    yield _value("journal_bytes", "Bytes of the journal on disk.", journal.bytes)
    waiting = max(0, journal.last_sequence - journal.exported_sequence)
    yield _value("journal_events_not_exported", "Events in no segment yet.", waiting)
    disk = broker.disk
    if disk is not None:
        yield _value("disk_bytes", "Size of the data directory's file system.", disk.total_bytes)
        yield _value("disk_free_bytes", "What of it is free.", disk.free_bytes)
        yield _value("disk_free_min_bytes", "Below it nothing new is taken.", disk.free_min)
        yield _value("disk_full", "1: nothing new is taken.", int(disk.full))
        removed = _by("kind", disk.removed)
        yield _counter("disk_files_removed", "Files removed for lack of space.", removed)


def _of_reports(reports: Mapping[str, Report]) -> Iterator["Metric"]:
    ages = {name: report.age_seconds for name, report in reports.items()}
    yield _gauge("report_age_seconds", "Age of a process's report.", _by("process", ages))


def _of_bridge(bridge: BridgeStatus) -> Iterator["Metric"]:
    outbox = bridge.outbox
    yield _value("bridge_connected", "1: the bridge has the broker.", int(bridge.mqtt.connected))
    yield _value("outbox_readings", "Readings that wait.", outbox.waiting)
    yield _value("outbox_inflight", "Readings under way.", outbox.in_flight)
    yield _count("outbox_published", "Readings that the broker has.", outbox.published)
    yield _value("outbox_bytes", "Bytes of the outbox.", outbox.bytes)
    # A port that cannot be read has no name: with two of the same name a scraper would refuse all.
    by_name = {port.name: port for port in bridge.ports[: limits.METRIC_PORTS_MAX]}
    ports = list(by_name.values())
    states = [({"port": each.name}, int(each.state == "open")) for each in ports]
    yield _gauge("port_open", "1: the port is open.", states)
    silent = [({"port": each.name}, int(each.silent_seconds is not None)) for each in ports]
    yield _gauge("port_silent", "1: no byte for longer than silent_after.", silent)
    held = [({"port": each.name}, int(bool(each.held))) for each in ports]
    yield _gauge("port_held", "1: not read, because the outbox is full.", held)
    for name, text in _GAUGES_OF_PORT.items():
        values = [({"port": each.name}, _number(each, name)) for each in ports]
        yield _gauge(f"port_{name}", text, values)
    for name, text in _COUNTERS_OF_PORT.items():
        counts = [({"port": each.name}, _number(each, name)) for each in ports]
        yield _counter(f"port_{name}", text, counts)
    for name, text in _REASONS_OF_PORT.items():
        found = [
            ({"port": each.name, "reason": reason}, count)
            for each in ports
            for reason, count in _first(getattr(each, name))
        ]
        yield _counter(f"port_{name}", text, found)
    for name in ("frame", "reading"):
        times = [({"port": each.name}, _seconds(each, f"last_{name}_ms")) for each in ports]
        yield _gauge(f"port_last_{name}_timestamp_seconds", f"Time of the last {name}.", times)


def _of_uploader(uploader: UploaderStatus) -> Iterator["Metric"]:
    yield _value("upload_open_events", "Events in the open segment.", uploader.open.events)
    yield _value("upload_waiting_segments", "Segments to be sent.", uploader.sealed.count)
    yield _value("upload_waiting_bytes", "Their bytes.", uploader.sealed.bytes)
    yield _count("upload_sent_segments", "Segments sent.", uploader.sent.count)
    failing = int(uploader.failing_since_ms is not None)
    yield _value("upload_failing", "1: uploading has failed.", failing)
    last_ms = uploader.last_upload_ms
    last = None if last_ms is None else last_ms / 1000
    yield _gauge("upload_last_timestamp_seconds", "Time of the last upload.", [({}, last)])


def _of_uplink(uplink: UplinkStatus) -> Iterator["Metric"]:
    sides = {"remote": int(uplink.remote.connected), "local": int(uplink.local.connected)}
    yield _gauge("uplink_connected", "1: connected.", _by("side", sides))
    ways = {"out": uplink.out, "in": uplink.into}
    waiting = {name: way.waiting for name, way in ways.items()}
    yield _gauge("uplink_waiting", "Messages that wait.", _by("direction", waiting))
    for name in _COUNTERS_OF_UPLINK:
        counts = {direction: getattr(way, name) for direction, way in ways.items()}
        yield _counter(f"uplink_{name}", f"Messages: {name}.", _by("direction", counts))


_Samples = Iterable[tuple[Mapping[str, str], float | None]]


def _gauge(name: str, text: str, samples: _Samples) -> "Metric":
    from prometheus_client.metrics_core import GaugeMetricFamily  # noqa: PLC0415 - see above

    return _filled(GaugeMetricFamily(f"oncegate_{name}", text), f"oncegate_{name}", samples)


def _counter(name: str, text: str, samples: _Samples) -> "Metric":
    from prometheus_client.metrics_core import CounterMetricFamily  # noqa: PLC0415 - see above

    family = CounterMetricFamily(f"oncegate_{name}", text)
    return _filled(family, f"oncegate_{name}_total", samples)


def _histogram(name: str, text: str, journal: Journal) -> "Metric":
    from prometheus_client.metrics_core import HistogramMetricFamily  # noqa: PLC0415 - see above

    histogram = journal.commit_histogram
    assert histogram is not None
    bounds = [f"{bound / 1000:g}" for bound in histogram.bounds_ms] + ["+Inf"]
    buckets = list(zip(bounds, accumulate(histogram.counts), strict=False))
    total_seconds = journal.commit_ms_mean * journal.batches / 1000
    return HistogramMetricFamily(f"oncegate_{name}", text, buckets=buckets, sum_value=total_seconds)


def _filled(family: "Metric", name: str, samples: _Samples) -> "Metric":
    """Add the samples whose value is known."""
    for labels, value in samples:
        if value is not None:
            family.add_sample(name, dict(labels), value)
    return family


def _value(name: str, text: str, value: float) -> "Metric":
    return _gauge(name, text, [({}, value)])


def _count(name: str, text: str, value: float) -> "Metric":
    return _counter(name, text, [({}, value)])


def _by(label: str, values: Mapping[str, float | None]) -> _Samples:
    return [({label: name}, value) for name, value in _first(values)]


def _first(values: Mapping[str, float | None]) -> list[tuple[str, float | None]]:
    """Return at most METRIC_REASONS_MAX values, sorted by name."""
    return sorted(values.items())[: limits.METRIC_REASONS_MAX]


def _number(port: Port, name: str) -> float | None:
    found = getattr(port, name)
    return None if found is None else float(found)


def _seconds(port: Port, name: str) -> float | None:
    found = getattr(port, name)
    return None if found is None else found / 1000
