"""The results of the benchmark as a table for a terminal and as docs/benchmarks.md."""

from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, Final

from rich import box
from rich.table import Table

from tests.instruments.benchmarks.recorder import lines_of

METHOD: Final = Path(__file__).with_name("method.md")
"""The part of the document that does not depend on the results."""

BUSY_LOAD: Final = 0.5
"""A higher load average before the start shows that other programs were using the machine."""

Results = dict[str, Any]

YES: Final = "yes"

RATIO_HEADINGS: Final = (
    *("scenario", "Mosquitto", "Oncegate", "ratio", "wanted", "ratio in CPU", "reached"),
)

COST_HEADINGS: Final = (
    *("scenario", "broker", "CPU s", "memory", "messages/commit", "bytes written/message"),
    *("generator's CPU s", "limited by"),
)

LIMITS: Final = {
    "broker": "the broker's core",
    "generator": "the load generator",
    "rate": "the rate",
    "neither": "neither core",
}


def table_of(results: Results) -> Table:
    """Return a table of the ratios, with the required ones."""
    table = Table(box=box.SIMPLE)
    for heading in RATIO_HEADINGS[:-1]:
        table.add_column(heading, justify="left" if heading == "scenario" else "right")
    for row in _ratio_rows(results):
        table.add_row(*row[:-1], style=None if row[-1] == YES else "red")
    return table


def document_of(results: Results) -> str:
    """Return docs/benchmarks.md as a whole."""
    return "\n".join(_lines(results)) + "\n"


def _lines(results: Results) -> Iterator[str]:
    yield "# Benchmarks"
    yield ""
    yield "Written by `make bench`; it overwrites what is changed by hand. Take the ratios, not the"
    yield "figures: both brokers were measured in turn, in one go, on one machine."
    yield ""
    yield from _machine_lines(results)
    yield ""
    yield "## Ratios"
    yield ""
    yield "Messages delivered per second, 64-byte payloads, medians; latencies where it states ms."
    yield "The ratio in CPU is that of the brokers' processor time for a message."
    yield ""
    yield f"| {' | '.join(RATIO_HEADINGS)} |"
    yield "|---" * len(RATIO_HEADINGS) + "|"
    for row in _ratio_rows(results):
        yield f"| {' | '.join(row)} |"
    yield ""
    yield from _disk_lines(results)
    yield ""
    yield from _burst_lines(results)
    yield ""
    yield from _ruled_lines(results)
    yield ""
    yield from lines_of(results["recorded"])
    yield ""
    yield "## What it cost"
    yield ""
    yield "CPU seconds are for a million delivered messages, memory is the most a process had."
    yield ""
    yield f"| {' | '.join(COST_HEADINGS)} |"
    yield "|---" * len(COST_HEADINGS) + "|"
    for contest in results["contests"]:
        for name, runs in contest["runs"].items():
            yield f"| {contest['name']} | {name} | {' | '.join(_cost_cells(runs))} |"
    yield ""
    yield from METHOD.read_text().splitlines()


def _machine_lines(results: Results) -> Iterator[str]:
    machine = results["machine"]
    first = results["contests"][0]["runs"]["Oncegate"][0]
    yield "| | |"
    yield "|---|---|"
    for name, value in (
        ("processor", f"{machine['processor']}, {machine['cores']} cores"),
        ("memory", f"{machine['memory_bytes'] / 2**30:.1f} GiB"),
        ("system", f"{machine['system']}, Linux {machine['kernel']}, {machine['file_system']}"),
        ("Oncegate", f"{machine['oncegate']}, Python {machine['python']}"),
        ("Mosquitto", machine["mosquitto"]),
        ("one fsync of this disk", f"{results['durable']['fsync_ms']:.2f} ms (p50)"),
        ("measured", f"{_rounds_of(results)} of {results['seconds']:g} s for each figure"),
        ("cores", "one for each broker, another for the load" if results["pinned"] else "any"),
        ("payload", f"{first['scenario']['payload_bytes']} bytes"),
    ):
        yield f"| {name} | {value} |"
    if machine["load_average"] > BUSY_LOAD:
        yield ""
        yield (
            "**The machine was busy with other work (load average "
            f"{machine['load_average']} before the start): these figures are noise.**"
        )


def _ratio_rows(results: Results) -> Iterator[tuple[str, ...]]:
    for contest in results["contests"]:
        rates = contest["rates"]
        reached = contest["ratio"] >= contest["least"]
        yield (
            contest["name"],
            f"{rates['Mosquitto']:,.0f}",
            f"{rates['Oncegate']:,.0f}",
            f"{contest['ratio']:.1f}",
            f"at least {contest['least']:g}",
            f"{contest['cpu_ratio']:.1f}",
            _yes_or_no(reached),
        )
    durable, shared = results["durable"], results["shared"]
    yield (
        "QoS 2 durable, one client, window 1: acknowledged (p50) against two fsyncs",
        f"two fsyncs: {2 * durable['fsync_ms']:.2f} ms",
        f"{durable['latency_ms']:.2f} ms",
        f"{durable['ratio']:.2f}",
        f"at most {durable['most']:g}",
        "-",
        _yes_or_no(durable["ratio"] <= durable["most"]),
    )
    yield (
        "QoS 0 latency (p99) while durable traffic saturates the disk, against QoS 0 alone",
        f"alone: {shared['alone_ms']:.2f} ms",
        f"{shared['beside_ms']:.2f} ms",
        f"{shared['ratio']:.2f}",
        f"at most {shared['most']:g}",
        "-",
        _yes_or_no(shared["ratio"] <= shared["most"]),
    )


def _ruled_lines(results: Results) -> Iterator[str]:
    yield "## Access rules"
    yield ""
    yield "Oncegate with 1,000 users and 1,000 rules, of which the last decides, against none."
    yield ""
    yield "| scenario | without | with | ratio | wanted | reached |"
    yield "|---|---|---|---|---|---|"
    for entry in results["ruled"]:
        rates = entry["rates"]
        yield (
            f"| {entry['name']} | {rates['without']:,.0f} | {rates['with']:,.0f} "
            f"| {entry['ratio']:.2f} | at least {entry['least']:g} "
            f"| {_yes_or_no(entry['ratio'] >= entry['least'])} |"
        )


def _burst_lines(results: Results) -> Iterator[str]:
    yield "## Bursts"
    yield ""
    yield "Published as fast as the broker acknowledges, to subscribers that read as fast as they"
    yield "can; both brokers with the default limits of their queues."
    yield ""
    yield "| scenario | broker | acknowledged | delivered | seconds | memory |"
    yield "|---|---|---|---|---|---|"
    for entry in results["bursts"]:
        for name, found in entry["brokers"].items():
            yield (
                f"| {entry['name']} | {name} | {found['acknowledged']:,} | {found['delivered']:,} "
                f"| {found['seconds']:.1f} | {found['memory_bytes'] / 2**20:.0f} MiB |"
            )


def _disk_lines(results: Results) -> Iterator[str]:
    durable, shared = results["durable"], results["shared"]
    written = median(run["broker"]["written_bytes_per_message"] for run in durable["runs"])
    commits = median(load["commits"]["messages_each"] for load in shared["loads"])
    busy = median(load["commits"]["busy_share"] for load in shared["loads"])
    yield (
        "At window 1, where a commit carries the step of one message, "
        f"{written:,.0f} bytes are written for each message."
    )
    yield (
        "The load beside which QoS 0 is timed was "
        f"{shared['load_per_second']:,.0f} durable messages/s, {commits:,.0f} for each commit; a "
        f"commit was under way {busy:.0%} of the time."
    )
    yield ""
    yield "## Wear"
    yield ""
    yield "QoS 2, one publisher, one subscriber, persistent sessions, all in the session log."
    yield ""
    yield "| messages/s | commits for each message | bytes written for each message |"
    yield "|---|---|---|"
    for entry in results["wear"]:
        commits = 1 / entry["run"]["commits"]["messages_each"]
        yield f"| {entry['rate']} | {commits:.1f} | {entry['written_bytes']:,.0f} |"


def _cost_cells(runs: list[dict[str, Any]]) -> Iterator[str]:
    brokers = [run["broker"] for run in runs]
    yield f"{median(broker['cpu_seconds_per_million'] for broker in brokers):.2f}"
    yield f"{max(broker['rss_bytes_max'] for broker in brokers) / 2**20:.0f} MiB"
    if "commits" in runs[0] and runs[0]["scenario"]["persistent"]:
        yield f"{median(run['commits']['messages_each'] for run in runs):,.0f}"
    else:
        yield "-"
    yield f"{median(broker['written_bytes_per_message'] for broker in brokers):,.0f}"
    yield f"{median(run['generator']['cpu_seconds_per_million'] for run in runs):.2f}"
    limits = sorted({LIMITS[run["limit"]] for run in runs})
    yield ", ".join(limits)


def _rounds_of(results: Results) -> str:
    return "one round" if results["rounds"] == 1 else f"{results['rounds']} rounds"


def _yes_or_no(reached: bool) -> str:
    return YES if reached else "**no**"
