"""Charts for the fleet's page. They show daily totals over all gateways.

If a chart has no values, it is omitted.
"""

from __future__ import annotations

from cloud_jobs.fleet_report.charts import Series, chart
from cloud_jobs.fleet_report.figures import Figures


def fleet_charts(figures: Figures) -> str:
    """Return all charts of the fleet's page as HTML."""
    labels = [f"{day:%d %b}" for day in figures.days]

    def series(name: str, style: str, column: str, factor: float = 1.0) -> Series:
        rows = (figures.fleet.get(day) for day in figures.days)
        return Series(name, style, [None if row is None or row[column] is None
                                    else row[column] * factor for row in rows])  # fmt: skip

    def drawn(title: str, parts: tuple[Series, ...], *, unit: str = "", bars: bool = False) -> str:
        has_any = any(value for part in parts for value in part.values)
        return chart(title, parts, labels, unit=unit, is_stacked=bars) if has_any else ""

    def bars(title: str, *parts: Series, unit: str = "") -> str:
        return drawn(title, parts, unit=unit, bars=True)

    def lines(title: str, column: str, factor: float = 1e-3) -> str:
        median, tail = f"{column}_p50_ms", f"{column}_p99_ms"
        parts = (series("worst gateway, p99", "c3", f"{tail}_worst", factor),
                 series("median gateway, p99", "c2", tail, factor),
                 series("median gateway, p50", "c1", median, factor))  # fmt: skip
        return drawn(title, parts, unit="s")

    return (
        bars("Messages received at QoS 2", series("released once", "c1", "released"),
             series("abandoned", "c3", "abandoned"))
        + bars("Deliveries", series("completed", "c1", "completed"),
               series("resent", "c2", "resent"), series("dropped", "c3", "dropped"))
        + lines("From PUBLISH to PUBREL", "hold")
        + lines("From queue to PUBCOMP", "delivery")
        + bars("Sessions", series("opened", "c1", "sessions_opened"),
               series("resumed", "c2", "sessions_resumed"), series("lost", "c3", "sessions_lost"))
        + bars("Offline, all gateways", series("offline", "c3", "offline_seconds"), unit="s")
        + drawn("Upload lag", (series("worst gateway", "c3", "lag_max_seconds_worst"),
                               series("median gateway", "c1", "lag_p50_seconds")), unit="s")
        + bars("Missing", series("events of gateways", "c3", "missing"),
               series("readings of sensors", "c2", "readings_missing"))
        + bars("Audit, gateways", series("ok", "c1", "ok"),
               series("inconclusive", "c2", "doubtful"), series("violation", "c3", "violating"))
    )  # fmt: skip
