"""Provides the gateway's metrics at `/metrics` for Prometheus and OpenMetrics scrapers.

The endpoint is read-only. It uses the same data and the same access rules as the REST interface. To
limit the number of series, no metric has a label for the client, topic or device. Metrics with a
label for the reason include at most `METRIC_REASONS_MAX` reasons. Active alarms are counted by kind
and level. The number of all other series depends only on the configuration.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from fastapi import APIRouter, Depends, Request, Response

from api import limits
from api.alarms.alarm import Alarm
from api.login.admission import VIEWERS
from api.models.bridge import BridgeStatus, Port
from api.models.broker import BrokerStatus
from api.models.reports import Report
from api.models.uplink import UplinkStatus
from api.models.uploader import UploaderStatus
from api.preferences import prefers_openmetrics
from api.rest.alarms import watch_of
from api.rest.metric_families import by, count, counter, first, gauge, histogram, value
from api.rest.status import observer_of
from api.status.control_socket import BrokerProblem
from api.status.observer import Overview

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

metrics = APIRouter(include_in_schema=False, dependencies=[Depends(VIEWERS)])
"""Router of `/metrics`.

It is not part of the REST interface, which returns JSON (docs/metrics.md).
"""

_OPENMETRICS: Final = "application/openmetrics-text; version=1.0.0"
_COUNTERS_OF_PORT: Final = {
    "bytes": "Bytes read.",
    "frames": "Frames read.",
    "readings": "Readings stored in the outbox.",
    "overruns": "Number of times that bytes were lost before the bridge read them.",
    "resyncs": "Number of times that frames were found again after damage.",
    "reopened": "Number of times that the port was opened again.",
    "resets": "Number of times that the port was opened again because of silence.",
    "repeated_starts": "Starts of boards that repeated the numbers of an earlier start.",
}
_GAUGES_OF_PORT: Final = {
    "damaged_share": "Share of damaged frames in the last minutes, from 0 to 1.",
    "damage_warning": "1 if the share of damaged frames is too large.",
    "devices_watched": "Devices to which device_silent_after applies.",
    "devices_silent": "Devices that have sent nothing for longer than device_silent_after.",
}
_REASONS_OF_PORT: Final = {
    "damaged": "Damaged frames, by reason.",
    "left_out": "Values of good frames that were not published, by reason.",
    "refused": "Requests that devices refused, by reason.",
    "dropped": "Readings that were not stored, by reason.",
    "line_errors": "Errors counted by the driver or the serial server, by kind.",
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

    observer = observer_of(request)
    overview: Overview | None
    try:
        overview, is_up = await observer.overview(), True
    except BrokerProblem:
        # The last overview has the other processes' reports; report_age_seconds is their age.
        overview, is_up = observer.last_overview, False
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Collector(overview, watch_of(request).active(), is_up=is_up))
    # The library ignores weights and fails on versions without a number.
    accepted = _OPENMETRICS if prefers_openmetrics(request.headers.get("accept", "")) else ""
    encode, content_type = choose_encoder(accepted)
    return Response(encode(registry), headers={"Content-Type": content_type})


class _Collector:
    """Adapter that converts one overview to metrics for the Prometheus library."""

    def __init__(self, overview: Overview | None, alarms: Sequence[Alarm], *, is_up: bool) -> None:
        self._overview = overview
        self._alarms = alarms
        self._is_up = is_up

    def collect(self) -> Iterable["Metric"]:
        yield value("up", "1 if the broker responds.", int(self._is_up))
        yield _alarm_metrics(self._alarms)
        if self._overview is not None:
            if self._is_up:
                yield from _broker_metrics(self._overview.broker)
            overview_age = 0.0 if self._is_up else self._overview.age_seconds()
            yield from _process_metrics(self._overview, overview_age)


def _alarm_metrics(alarms: Sequence[Alarm]) -> "Metric":
    """Return a metric with the number of active alarms by kind and level.

    It has no label for the subject of an alarm, because this would create a series per client.
    """
    counted = Counter((alarm.id, alarm.level.word) for alarm in alarms)
    values = [({"id": id, "level": level}, count) for (id, level), count in counted.items()]
    return gauge("alarm", "Active alarms. A kind without an active alarm is absent.", values)


def _process_metrics(overview: Overview, overview_age: float) -> Iterator["Metric"]:
    """Yield the metric families of the processes that report to the broker.

    `overview_age` is added to the ages of the reports. It is the age of the overview in seconds if
    the broker no longer responds, otherwise 0.
    """
    reports = {"bridge": overview.serial, "upload": overview.upload, "uplink": overview.uplink}
    yield from _report_metrics(reports, overview_age)
    if overview.serial.status is not None:
        yield from _bridge_metrics(overview.serial.status)
    if overview.upload.status is not None:
        yield from _uploader_metrics(overview.upload.status)
    if overview.uplink.status is not None:
        yield from _uplink_metrics(overview.uplink.status)


def _broker_metrics(broker: BrokerStatus) -> Iterator["Metric"]:
    yield gauge("broker_info", "The broker's version.", [({"version": broker.version}, 1)])
    yield value("broker_uptime_seconds", "Time since the broker started.", broker.uptime_seconds)
    synchronised = int(broker.clock == "synchronised")
    yield value("clock_synchronised", "1 if a time server sets the clock.", synchronised)
    yield value("connections_open", "Open network connections.", broker.connections.open)
    yield value("connections_limit", "Maximum number of connections.", broker.connections.limit)
    yield count("connections_accepted", "Connections accepted.", broker.connections.accepted)
    yield count("connections_refused", "Connections refused.", broker.connections.refused)
    sessions = broker.sessions
    yield value("sessions", "Sessions.", sessions.total)
    yield value("sessions_connected", "Sessions with a connection.", sessions.connected)
    yield value(
        "sessions_persistent", "Sessions that continue without a connection.", sessions.persistent
    )
    yield value("subscriptions", "Topic filters of all sessions.", broker.subscriptions)
    yield value("retained_messages", "Retained messages.", broker.retained)
    yield from _message_metrics(broker)
    yield from _storage_metrics(broker)


def _message_metrics(broker: BrokerStatus) -> Iterator["Metric"]:
    for name, counted in (
        ("received", broker.messages.received),
        ("sent", broker.messages.sent),
    ):
        by_qos = {"0": counted.qos0, "1": counted.qos1, "2": counted.qos2}
        yield counter(f"messages_{name}", f"PUBLISH packets {name}.", by("qos", by_qos))
    dropped = by("reason", broker.messages.dropped)
    yield counter(
        "messages_dropped", "Messages that were dropped for a session, by reason.", dropped
    )
    operations = by("command", broker.operations)
    yield counter("operations", "Actions of operators, by command.", operations)
    suppressed = broker.messages.duplicates_suppressed
    yield count(
        "messages_duplicates_suppressed", "QoS 2 messages that were received again.", suppressed
    )
    yield value("queued_messages", "Messages in the queues of sessions.", broker.queued.messages)
    yield value("queued_bytes", "Bytes in the queues of sessions.", broker.queued.bytes)
    queued = broker.queued
    yield value(
        "queue_memory_bytes", "Memory of the queues of clean sessions.", queued.memory_bytes
    )
    yield value("queue_memory_limit_bytes", "Limit of that memory.", queued.memory_limit_bytes)
    yield value("queues_slowing", "Full queues that slow their publishers.", queued.slowing)
    yield value("queues_filling", "Queues that are at least 80 % full.", queued.filling)
    yield value(
        "inflight_messages", "Messages that were sent and not acknowledged.", broker.inflight
    )
    yield value(
        "awaiting_release",
        "QoS 2 messages that were received and not released.",
        broker.awaiting_release,
    )
    errors = by("kind", broker.errors)
    yield counter("client_errors", "Errors of clients, by kind.", errors)


def _storage_metrics(broker: BrokerStatus) -> Iterator["Metric"]:
    journal = broker.journal
    yield count("commits", "Commits, each with one fsync.", journal.batches)
    yield value("commit_mean_seconds", "Mean duration of a commit.", journal.commit_ms_mean / 1000)
    yield value(
        "commit_max_seconds", "Duration of the longest commit.", journal.commit_ms_max / 1000
    )
    if journal.commit_histogram is not None:
        yield histogram("commit_seconds", "Commits by duration.", journal)
    yield count("journal_facts", "Records written to the journal.", journal.facts)
    yield value("journal_bytes", "Bytes of the journal on disk.", journal.bytes)
    waiting = max(0, journal.last_sequence - journal.exported_sequence)
    yield value("journal_events_not_exported", "Events that are not in a segment yet.", waiting)
    disk = broker.disk
    if disk is not None:
        yield value("disk_bytes", "Size of the data directory's file system.", disk.total_bytes)
        yield value("disk_free_bytes", "Free space of that file system.", disk.free_bytes)
        yield value(
            "disk_free_min_bytes", "Free space below which nothing new is stored.", disk.free_min
        )
        yield value("disk_full", "1 if nothing new is stored.", int(disk.full))
        removed = by("kind", disk.removed)
        yield counter("disk_files_removed", "Files removed for lack of space.", removed)


def _report_metrics(reports: Mapping[str, Report], overview_age: float) -> Iterator["Metric"]:
    ages = {
        name: None if report.age_seconds is None else report.age_seconds + overview_age
        for name, report in reports.items()
    }
    yield gauge("report_age_seconds", "Age of a process's report.", by("process", ages))


def _bridge_metrics(bridge: BridgeStatus) -> Iterator["Metric"]:
    outbox = bridge.outbox
    yield value(
        "bridge_connected",
        "1 if the bridge is connected to the broker.",
        int(bridge.mqtt.connected),
    )
    yield value("outbox_readings", "Readings that wait to be published.", outbox.waiting)
    yield value("outbox_inflight", "Readings that are being published.", outbox.in_flight)
    yield count("outbox_published", "Readings that the broker has acknowledged.", outbox.published)
    yield value("outbox_bytes", "Size of the outbox.", outbox.bytes)
    # Unreadable ports share one name, and a scraper would reject all metrics if a name came twice.
    by_name = {port.name: port for port in bridge.ports[: limits.METRIC_PORTS_MAX]}
    ports = list(by_name.values())
    states = [({"port": each.name}, int(each.state == "open")) for each in ports]
    yield gauge("port_open", "1 if the port is open.", states)
    silent = [({"port": each.name}, int(each.silent_seconds is not None)) for each in ports]
    yield gauge("port_silent", "1 if no byte was received for longer than silent_after.", silent)
    held = [({"port": each.name}, int(bool(each.held))) for each in ports]
    yield gauge("port_held", "1 if the port is not read because the outbox is full.", held)
    for name, text in _GAUGES_OF_PORT.items():
        values = [({"port": each.name}, _number(each, name)) for each in ports]
        yield gauge(f"port_{name}", text, values)
    for name, text in _COUNTERS_OF_PORT.items():
        counts = [({"port": each.name}, _number(each, name)) for each in ports]
        yield counter(f"port_{name}", text, counts)
    for name, text in _REASONS_OF_PORT.items():
        found = [
            ({"port": each.name, "reason": reason}, count)
            for each in ports
            for reason, count in first(getattr(each, name))
        ]
        yield counter(f"port_{name}", text, found)
    for name in ("frame", "reading"):
        times = [({"port": each.name}, _seconds(each, f"last_{name}_ms")) for each in ports]
        yield gauge(f"port_last_{name}_timestamp_seconds", f"Time of the last {name}.", times)


def _uploader_metrics(uploader: UploaderStatus) -> Iterator["Metric"]:
    yield value("upload_open_events", "Events in the open segment.", uploader.open.events)
    yield value(
        "upload_waiting_segments", "Segments that wait to be uploaded.", uploader.sealed.count
    )
    yield value("upload_waiting_bytes", "Bytes of these segments.", uploader.sealed.bytes)
    yield count("upload_sent_segments", "Segments uploaded.", uploader.sent.count)
    failing = int(uploader.failing_since_ms is not None)
    yield value("upload_failing", "1 if the last upload failed.", failing)
    last_ms = uploader.last_upload_ms
    last = None if last_ms is None else last_ms / 1000
    yield gauge("upload_last_timestamp_seconds", "Time of the last upload.", [({}, last)])


def _uplink_metrics(uplink: UplinkStatus) -> Iterator["Metric"]:
    sides = {"remote": int(uplink.remote.connected), "local": int(uplink.local.connected)}
    yield gauge(
        "uplink_connected", "1 if the uplink is connected to this broker.", by("side", sides)
    )
    ways = {"out": uplink.out, "in": uplink.into}
    waiting = {name: way.waiting for name, way in ways.items()}
    yield gauge("uplink_waiting", "Messages that wait to be forwarded.", by("direction", waiting))
    for name in _COUNTERS_OF_UPLINK:
        counts = {direction: getattr(way, name) for direction, way in ways.items()}
        yield counter(f"uplink_{name}", f"Messages: {name}.", by("direction", counts))


def _number(port: Port, name: str) -> float | None:
    found = getattr(port, name)
    return None if found is None else float(found)


def _seconds(port: Port, name: str) -> float | None:
    found = getattr(port, name)
    return None if found is None else found / 1000
