"""The dashboard for Grafana: `make docs` writes it."""

import json
from pathlib import Path
from typing import Any, Final

PAGE: Final = Path(__file__).resolve().parent / "monitoring" / "oncegate-dashboard.json"
SCHEMA_VERSION: Final = 39
"""Version of the format of dashboards since Grafana 10.4. Later versions convert it."""
WIDTH: Final = 24
"""Columns of Grafana's grid."""
DATASOURCE: Final = {"type": "prometheus", "uid": "${datasource}"}
CHOSEN: Final = '{instance=~"$instance"}'


def _rate_of(counter: str, labels: str) -> str:
    """Return the rate of a counter, by labels."""
    return f"sum by ({labels}) (rate(oncegate_{counter}{CHOSEN}[$__rate_interval]))"


STATS: Final = (
    ("Gateways", f"count(oncegate_up{CHOSEN})", "none"),
    ("Brokers down", f"count(oncegate_up{CHOSEN} == 0) or vector(0)", "none"),
    ("Active alarms", f"sum(oncegate_alarm{CHOSEN}) or vector(0)", "none"),
    (
        "Dropped in the last hour",
        f"sum(increase(oncegate_messages_dropped_total{CHOSEN}[1h])) or vector(0)",
        "none",
    ),
    ("Segments to be sent", f"sum(oncegate_upload_waiting_segments{CHOSEN}) or vector(0)", "none"),
    ("Oldest report", f"max(oncegate_report_age_seconds{CHOSEN})", "s"),
)
"""Title, expression and unit of each number at the top."""

CURVES: Final = (
    (
        "Readings per second",
        "reqps",
        ((_rate_of("port_readings_total", "instance, port"), "{{instance}} {{port}}"),),
    ),
    (
        "Messages per second",
        "reqps",
        tuple(
            (_rate_of(f"messages_{way}_total", "instance"), f"{{{{instance}}}} {way}")
            for way in ("received", "sent")
        ),
    ),
    (
        "Commit to disk",
        "s",
        tuple(
            (
                f"histogram_quantile({share}, {_rate_of('commit_seconds_bucket', 'instance, le')})",
                f"{{{{instance}}}} p{round(share * 100)}",
            )
            for share in (0.5, 0.99)
        ),
    ),
    (
        "Waiting",
        "short",
        (
            (f"oncegate_queued_messages{CHOSEN}", "{{instance}} for clients"),
            (f"oncegate_outbox_readings{CHOSEN}", "{{instance}} in the outbox"),
            (f"oncegate_uplink_waiting{CHOSEN}", "{{instance}} uplink {{direction}}"),
        ),
    ),
    ("Disk free", "bytes", ((f"oncegate_disk_free_bytes{CHOSEN}", "{{instance}}"),)),
    ("To be uploaded", "bytes", ((f"oncegate_upload_waiting_bytes{CHOSEN}", "{{instance}}"),)),
    (
        "Damaged frames",
        "percentunit",
        ((f"oncegate_port_damaged_share{CHOSEN}", "{{instance}} {{port}}"),),
    ),
    ("Connections", "short", ((f"oncegate_connections_open{CHOSEN}", "{{instance}}"),)),
)
"""Title, unit, and expression with legend of each curve."""


def dashboard() -> str:
    """Return the dashboard as JSON."""
    width = WIDTH // len(STATS)
    panels = [
        _panel("stat", title, unit, ((expression, ""),), (number * width, 0, width, 4))
        for number, (title, expression, unit) in enumerate(STATS)
    ]
    panels.append(_alarms())
    panels += [
        _panel("timeseries", title, unit, targets, (number % 2 * 12, 12 + number // 2 * 8, 12, 8))
        for number, (title, unit, targets) in enumerate(CURVES)
    ]
    for number, panel in enumerate(panels, 1):
        panel["id"] = number
    found = {
        "uid": "oncegate",
        "title": "Oncegate gateways",
        "tags": ["oncegate"],
        "schemaVersion": SCHEMA_VERSION,
        "editable": True,
        "refresh": "30s",
        "time": {"from": "now-24h", "to": "now"},
        "templating": {"list": [_datasource(), _instance()]},
        "panels": panels,
    }
    return json.dumps(found, indent=2) + "\n"


def _panel(
    kind: str,
    title: str,
    unit: str,
    targets: tuple[tuple[str, str], ...],
    place: tuple[int, int, int, int],
) -> dict[str, Any]:
    left, top, width, height = place
    return {
        "type": kind,
        "title": title,
        "datasource": DATASOURCE,
        "gridPos": {"x": left, "y": top, "w": width, "h": height},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "targets": [
            {
                "refId": chr(ord("A") + number),
                "datasource": DATASOURCE,
                "expr": expression,
                "legendFormat": legend or "__auto",
            }
            for number, (expression, legend) in enumerate(targets)
        ],
    }


def _alarms() -> dict[str, Any]:
    """Return the table of active alarms, one row each."""
    panel = _panel(
        "table", "Active alarms", "none", ((f"oncegate_alarm{CHOSEN} > 0", ""),), (0, 4, WIDTH, 8)
    )
    panel["targets"][0] |= {"format": "table", "instant": True}
    hidden = dict.fromkeys(("Time", "__name__", "job"), True)
    panel["transformations"] = [{"id": "organize", "options": {"excludeByName": hidden}}]
    return panel


def _datasource() -> dict[str, Any]:
    label = {"name": "datasource", "label": "Prometheus"}
    return {"type": "datasource", "query": "prometheus", **label}


def _instance() -> dict[str, Any]:
    return {
        "type": "query",
        "name": "instance",
        "label": "Gateway",
        "datasource": DATASOURCE,
        "query": {"query": "label_values(oncegate_up, instance)", "refId": "instance"},
        "refresh": 2,
        "includeAll": True,
        "multi": True,
        "allValue": ".*",
        "current": {"text": "All", "value": "$__all"},
    }
