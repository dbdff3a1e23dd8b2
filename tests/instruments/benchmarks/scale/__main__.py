"""`make scale`: measure everything, or the named parts, and write the page.

Measurements are stored in build/scale, so that a single part can be measured again.
"""

import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rich.console import Console

from tests.instruments.benchmarks.machine import machine_of
from tests.instruments.benchmarks.scale import connections, restart, standstill, wear
from tests.instruments.benchmarks.scale.report import PARTS, page_of
from tests.instruments.benchmarks.scale.watched import ROOT

PAGE = ROOT / "docs" / "benchmarks-scale.md"
KEPT = ROOT / "build" / "scale"
BUILDS = ["plain", "compiled"]

MEASURES: dict[str, Callable[[], Iterator[dict[str, Any]]]] = {
    "standstill": lambda: standstill.measure("plain"),
    "wear": wear.measure,
    "restart": lambda: restart.measure(BUILDS),
    "connections": lambda: connections.measure(BUILDS),
}


def main(wanted: list[str]) -> None:
    """Measure the wanted parts, and write the page."""
    console = Console()
    unknown = set(wanted) - set(MEASURES)
    if unknown:
        sys.exit(f"no such part: {', '.join(sorted(unknown))}; there are {', '.join(MEASURES)}")
    KEPT.mkdir(parents=True, exist_ok=True)
    machine = machine_of(Path(tempfile.gettempdir()))
    for part in wanted or MEASURES:
        rows: list[dict[str, Any]] = []
        with console.status(f"measuring {part} ...") as status:
            for row in MEASURES[part]():
                rows.append(row)
                status.update(f"measuring {part}: {len(rows)} done ...")
        (KEPT / f"{part}.json").write_text(json.dumps(rows))
    kept = {part: KEPT / f"{part}.json" for part in PARTS}
    figures = {part: json.loads(path.read_text()) for part, path in kept.items() if path.exists()}
    PAGE.write_text(page_of(figures, machine))
    console.print(f"written: {PAGE.relative_to(ROOT)} ({', '.join(figures)})")


if __name__ == "__main__":
    main(sys.argv[1:])
