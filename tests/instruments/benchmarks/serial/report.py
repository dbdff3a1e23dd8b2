"""The page docs/benchmarks-serial.md, written only from measured figures."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

DRIVER_BUFFER_BYTES = 640 * 1024
"""The size of Linux's buffer for a serial line (drivers/tty/tty_buffer.c)."""
BEGINNING = """\
# Serial lines at their full rate

Written by `make bench-serial ARGUMENTS=--write`, which takes five minutes and overwrites what is
changed by hand.
"""
METHOD_HEADING, PROTOCOLS_HEADING = "## How it is measured", "## Meters and sensors"
METHOD = Path(__file__).with_name("method.md").read_text()


def is_sound(row: Mapping[str, Any]) -> bool:
    """Return True if nothing was lost, doubled or overrun, and something was sent."""
    return (
        row["sent"] > 0
        and not row["lost"]
        and not row["doubled"]
        and row.get("waited_bytes_max", 0) < DRIVER_BUFFER_BYTES
    )


def machine_line(machine: Mapping[str, Any], version: str) -> str:
    """Return a description of the machine and the versions."""
    return (
        f"Oncegate {version}; "
        f"{machine['processor']}, {machine['cores']} cores, {machine['system']}, "
        f"{machine['file_system']}, Python {machine['python']}, Mosquitto {machine['mosquitto']}; "
        f"load average {machine['load_average']} before the start. Where that is above 1, others "
        "were at work: believe counts and processor times, not latencies.\n"
    )


def table_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the table of one scenario, with a row for each program."""
    heads = (
        "way | lines sent | lost | doubled | bytes that waited | p50, ms | p99, ms "
        "| cores to the broker | cores of the broker"
    )
    lines = [f"| {heads} |", "|" + "---|" * 9]
    for row in rows:
        latencies = (f"{row[key]:.1f}" for key in ("p50_ms", "p99_ms"))
        lines.append(
            f"| {row['way']} | {row['sent']:,} | {row['lost']} | {row['doubled']} "
            f"| {row['waited_bytes_max']:,} | {' | '.join(latencies)} "
            f"| {row['carrier_cores']:.2f} | {row['broker_cores']:.2f} |"
        )
    return "\n".join(lines) + "\n"


def protocols_table_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the table of the protocols, with a row for each."""
    heads = (
        "eight devices of | frames | lost | doubled | readings | p50, ms | p99, ms "
        "| cores of the bridge | cores of the broker"
    )
    lines = [f"| {heads} |", "|" + "---|" * 9]
    for row in rows:
        lines.append(
            f"| {row['protocol']} | {row['sent']:,} | {row['lost']} | {row['doubled']} "
            f"| {row['readings']:,} | {row['p50_ms']:.1f} | {row['p99_ms']:.1f} "
            f"| {row['carrier_cores']:.2f} | {row['broker_cores']:.2f} |"
        )
    return "\n".join(lines) + "\n"


def page_of(
    results: Mapping[str, Sequence[Mapping[str, Any]]],
    protocols: Sequence[Mapping[str, Any]],
    machine: Mapping[str, Any],
) -> str:
    """Return the whole page."""
    versions = {row["version"] for rows in results.values() for row in rows if row["version"]}
    parts = [BEGINNING, machine_line(machine, ", ".join(sorted(versions)))]
    parts += [f"## {name}\n\n{table_of(rows)}" for name, rows in results.items()]
    parts.append(protocols_section(protocols, machine))
    return "\n".join([*parts, METHOD])


def protocols_section(rows: Sequence[Mapping[str, Any]], machine: Mapping[str, Any]) -> str:
    """Return the section of the protocols."""
    load = f"Load average {machine['load_average']} before the start."
    return f"{PROTOCOLS_HEADING}\n\n{load}\n\n{protocols_table_of(rows)}"


def with_protocols(page: str, rows: Sequence[Mapping[str, Any]], machine: Mapping[str, Any]) -> str:
    """Return the page with another section of the protocols, and the other figures as they are."""
    others = page.partition(METHOD_HEADING)[0].partition(PROTOCOLS_HEADING)[0]
    return "\n".join([others.rstrip("\n") + "\n", protocols_section(rows, machine), METHOD])
