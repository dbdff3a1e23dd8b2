"""The page docs/benchmarks-scale.md, written only from measured figures."""

from collections.abc import Callable
from typing import Any

Rows = list[dict[str, Any]]

MEMORY_UNITS = 1024 * 1024


def _table(heads: str, lines: list[str]) -> str:
    columns = heads.count("|") + 1
    return "\n".join([f"| {heads} |", "|" + "---|" * columns, *(f"| {line} |" for line in lines)])


def _ms(seconds: float) -> str:
    return f"{1000 * seconds:.1f}"


def standstill(rows: Rows) -> str:
    """Return the section on the longest turns of the event loop."""
    lines = [
        f"{row['name']} | {_ms(row['busy_seconds'])} | {_ms(row['gap_seconds'])} "
        f"| {row['resident_bytes'] / MEMORY_UNITS:,.0f}"
        for row in rows
    ]
    return (
        "## The longest turn of the event loop\n\n"
        "The plain build was measured. *At work* is the processor time of the event loop's\n"
        "thread between two ticks of a millisecond, so it contains only the broker's own work.\n"
        "*By the clock* is the elapsed time, which includes the time taken by the disk and by\n"
        "other programs, such as the load generator.\n\n"
        + _table("what happens | at work, ms | by the clock, ms | memory, MiB", lines)
    )


def wear(rows: Rows) -> str:
    """Return the section on commits and bytes per message."""
    lines = [
        f"{row['settings']} | {row['qos']} | {row['rate'] or 'full load'} | {row['commits']:.2f} "
        f"| {row['blob_bytes']:,.0f} | {row['written_bytes']:,.0f}"
        for row in rows
    ]
    return (
        "## Commits and bytes for each message\n\n"
        "One publisher and one subscriber use persistent sessions and payloads of 64 bytes. The\n"
        "session log records everything. *Written* is the number of bytes that the kernel\n"
        "counted for the process, in pages of 4 KiB. Full load is 20,000 messages, which is too\n"
        "short for a checkpoint to begin with the default interval.\n\n"
        + _table("settings | QoS | messages/s | commits | blob, bytes | written, bytes", lines)
    )


def restart(rows: Rows) -> str:
    """Return the section on starts after a kill."""
    lines = [
        f"{row['build']} | {row['start_processor_seconds']:.1f} | {row['start_seconds']:.1f} "
        f"| {row['connack_seconds']:.1f} | {row['served_seconds']:.1f} "
        f"| {row['resident_bytes_max'] / MEMORY_UNITS:,.0f} | {row['session_bytes']:,.0f}"
        for row in rows
    ]
    heads = (
        "build | processor, s | ready, s | first CONNACK, s | ten queued messages delivered, s "
        "| memory, MiB | memory for each session, bytes"
    )
    return (
        "## A start with 100,000 persistent sessions and 1,000,000 queued messages\n\n"
        "The broker starts after a kill, checks the whole file and replays the journal. Times\n"
        "count from the start of the process. Each session has one subscription with three\n"
        "topic levels.\n\n" + _table(heads, lines)
    )


def connections(rows: Rows) -> str:
    """Return the section on idle connections."""
    lines = [
        f"{row['build']} | {row['connections']:,} | {row['connection_bytes']:,.0f} "
        f"| {_ms(row['ping_alone_seconds'][49])} / {_ms(row['ping_alone_seconds'][98])} "
        f"| {_ms(row['ping_among_seconds'][49])} / {_ms(row['ping_among_seconds'][98])}"
        for row in rows
    ]
    heads = (
        "build | connections | memory for each, bytes | PINGREQ alone, p50 / p99 ms | among them"
    )
    return (
        "## Idle connections\n\n"
        "The connections have clean sessions. Their number is limited by the files that this\n"
        "machine allows a process to open.\n\n" + _table(heads, lines)
    )


PARTS: dict[str, Callable[[Rows], str]] = {
    "standstill": standstill,
    "wear": wear,
    "restart": restart,
    "connections": connections,
}


def page_of(figures: dict[str, Rows], machine: dict[str, Any]) -> str:
    """Return the whole page."""
    head = (
        "# Scale, wear and standstill\n\n"
        "`make scale` writes this page. It takes about ten minutes and overwrites changes made by\n"
        f"hand.\n\n{machine['processor']}, {machine['cores']} cores, {machine['system']}, "
        f"{machine['file_system']}, Python {machine['python']}; load average "
        f"{machine['load_average']} before the start. If the\nload average is above 1, other "
        "programs were running: rely on the processor times, counts and bytes, not on the "
        "elapsed times.\n"
    )
    return "\n\n".join([head.rstrip(), *(PARTS[part](figures[part]) for part in figures)]) + "\n"
