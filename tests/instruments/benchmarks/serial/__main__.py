"""`make bench-serial`: fully loaded lines through the bridge, and through ser2net and
mosquitto_pub.

make bench-serial                             prints the tables
make bench-serial ARGUMENTS=--write           also writes docs/benchmarks-serial.md
make bench-serial ARGUMENTS="--seconds 5"     shorter than 15 s for each figure
make bench-serial ARGUMENTS=--protocols       only the protocols of meters and sensors
"""

import functools
import tempfile
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from tests.instruments.benchmarks import brokers
from tests.instruments.benchmarks.machine import machine_of
from tests.instruments.benchmarks.serial import report, ways
from tests.instruments.benchmarks.serial.lines import Device
from tests.instruments.benchmarks.serial.protocol_run import measure_protocol
from tests.instruments.benchmarks.serial.protocols import PROTOCOLS
from tests.instruments.benchmarks.serial.run import Broker, measure

ROOT = Path(__file__).resolve().parents[4]
PAGE = ROOT / "docs" / "benchmarks-serial.md"
SCENARIOS = {
    "Eight lines at 115,200 baud, 64 bytes a line: 180 lines a second each": [Device(115_200, 64)]
    * 8,
    "One line at 3,000,000 baud, 250 bytes a line: 1,200 lines a second": [Device(3_000_000, 250)],
}
PLAIN = functools.partial(brokers.oncegate, build=ROOT)
WAYS: dict[str, tuple[Broker, ways.Way]] = {
    "`oncegate bridge` to `oncegate broker`": (brokers.oncegate, ways.bridge),
    "`oncegate bridge` to Mosquitto": (brokers.mosquitto, ways.bridge),
    "ser2net, `mosquitto_pub -l -q 2` to Mosquitto": (brokers.mosquitto, ways.ser2net),
}


Rows = list[dict[str, Any]]


def measure_lines(console: Console, seconds: float, *, plain: bool) -> dict[str, Rows]:
    """Measure and print the ways of each scenario."""
    results: dict[str, Rows] = {}
    for name, devices in SCENARIOS.items():
        rows = results[name] = []
        for way, (broker, carrier) in WAYS.items():
            chosen = PLAIN if plain and broker is brokers.oncegate else broker
            with console.status(f"{name}: {way} ..."):
                rows.append({"way": way, **measure(chosen, carrier, devices, seconds)})
        console.print(f"\n{name}\n\n{report.table_of(rows)}", markup=False)
    return results


def measure_protocols(console: Console, seconds: float, *, plain: bool) -> Rows:
    """Measure and print the protocols."""
    rows = []
    for name in PROTOCOLS:
        with console.status(f"{name} ..."):
            rows.append(measure_protocol(PLAIN if plain else brokers.oncegate, name, seconds))
    console.print(f"\n{report.protocols_table_of(rows)}", markup=False)
    return rows


def main(
    seconds: Annotated[float, typer.Option(min=1, help="For each figure.")] = 15.0,
    plain: Annotated[bool, typer.Option("--plain", help="The broker without compiling.")] = False,
    protocols_only: Annotated[
        bool, typer.Option("--protocols", help="Only the protocols of meters and sensors.")
    ] = False,
    write: Annotated[bool, typer.Option("--write", help="Write the page.")] = False,
) -> None:
    """Measure. Exit with 1 if a line was lost, doubled or overrun."""
    console = Console(soft_wrap=True)
    machine = machine_of(Path(tempfile.gettempdir()))
    lines = {} if protocols_only else measure_lines(console, seconds, plain=plain)
    protocols = measure_protocols(console, seconds, plain=plain)
    if write:
        PAGE.write_text(
            report.with_protocols(PAGE.read_text(), protocols, machine)
            if protocols_only
            else report.page_of(lines, protocols, machine)
        )
        console.print(f"written: docs/{PAGE.name}")
    if not all(map(report.is_sound, chain(*lines.values(), protocols))):
        raise typer.Exit(1)


if __name__ == "__main__":
    typer.run(main)
