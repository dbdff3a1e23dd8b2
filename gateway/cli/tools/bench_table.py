"""Terminal output for a run of the load generator."""

from typing import Any

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from gateway.tools.bench.result import Faults, Result
from gateway.tools.bench.scenario import Scenario

LIMITS = {
    "rate": "the rate: the broker could do more",
    "broker": "the broker, which is busy",
    "generator": "the load generator, which is busy: the broker could do more",
    "neither": "neither is busy: the window, the disk or the network",
}


def title_of(scenario: Scenario) -> str:
    """Return a one-line description of the scenario."""
    version = "5.0" if scenario.version == 5 else "3.1.1"
    parts = [
        f"MQTT {version}, QoS {scenario.qos}",
        f"{scenario.publishers} to {scenario.subscribers}" + _shape_of(scenario),
        f"{scenario.payload_bytes} bytes",
    ]
    if scenario.qos:
        parts.append(f"window {scenario.window}")
        parts.append("persistent" if scenario.persistent else "clean")
    if scenario.away:
        parts.append("subscribers away" if scenario.never_reconnects else "subscribers come back")
    if scenario.spin:
        parts.append("never asleep")
    if scenario.rate is not None:
        parts.append(f"{scenario.rate:,.0f} messages/s")
    return ", ".join(parts)


def _rates_of(scenario: Scenario) -> tuple[str, ...]:
    """Return the names of the message rates that are measured in a scenario."""
    if scenario.away and not scenario.never_reconnects:
        return ("received",)
    if scenario.never_reconnects or not scenario.subscribers:
        return ("sent", "completed")
    return ("sent", "received", "completed")


def _shape_of(scenario: Scenario) -> str:
    return " in pairs" if scenario.shape == "pairs" else ""


def table_of(result: Result, fsync_ms: dict[str, float]) -> RenderableType:
    """Return the whole result as a table.

    `fsync_ms` contains percentiles of fsync times, or is empty if fsync was not measured.
    """
    table = Table(box=box.SIMPLE, show_header=False, title=title_of(result.scenario))
    table.title_justify = "left"
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    answer = result.as_json()
    for name, rate in answer["per_second"].items():
        if name in _rates_of(result.scenario):
            table.add_row(name, f"{rate:,.0f} messages/s")
    latencies = {"delivery": result.delivery_ms, "acknowledged": result.acknowledgement_ms}
    for name, values in (latencies | {"fsync": fsync_ms}).items():
        if values:
            table.add_row(name, _milliseconds(values))
    table.add_row("messages", _verdict(result.faults))
    if result.window_used < result.scenario.window:
        table.add_row("window", f"{result.window_used}: the broker accepts no more")
    table.add_row("generator", _cost(answer["generator"]))
    if answer["broker"] is not None:
        table.add_row("broker", _cost(answer["broker"]) + _memory_and_disk(answer["broker"]))
    table.add_row("limit", LIMITS[result.limit])
    return table


def _verdict(faults: Faults) -> Text:
    words = {
        "lost": faults.lost,
        "twice": faults.duplicates,
        "late": faults.late,
        "changed or foreign": faults.foreign,
        "refused": faults.refused,
        "never acknowledged": faults.unfinished,
    }
    found = ", ".join(f"{count:,} {word}" for word, count in words.items() if count)
    return Text(found, "red") if found else Text("each once, in order", "green")


def _milliseconds(values: dict[str, float]) -> str:
    return ", ".join(f"{name} {value:,.3f}" for name, value in values.items()) + " ms"


def _cost(process: dict[str, Any]) -> str:
    per_million = process["cpu_seconds_per_million"]
    cost = "" if per_million is None else f", {per_million:.2f} CPU s per million messages"
    return f"{process['cpu_share']:.0%} of a core{cost}"


def _memory_and_disk(broker: dict[str, Any]) -> str:
    written = broker["written_bytes_per_message"]
    disk = "" if written is None else f", {written:,.0f} bytes written per message"
    return f", {broker['rss_bytes'] / 2**20:.1f} MiB{disk}"
