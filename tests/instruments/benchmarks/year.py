"""`make year`: the cost of a year of a quiet gateway for each process.

Segments are small files with realistic names. They are hard links of few files, because a year of
inodes would only measure the file system. The segments that `oncegate audit` reads are real.
`year_of_tables` measures the tables. Memory is resident memory, and processor time is what the
kernel counted for the process and its threads. `--oncegate` names the command of another checkout,
and `--flat` puts all files into one folder, as earlier versions did.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from gateway.process.files.segment_folders import make_subfolder
from tests.contract.segments import SEED, LogWriter, closed, opened, sealed
from tests.instruments.benchmarks.machine import machine_of
from tests.instruments.benchmarks.scale.watched import ROOT
from tests.instruments.benchmarks.year_of_tables import broker_year, outbox_year
from tests.process.files.many_segments import name_of

PAGE = ROOT / "docs" / "benchmarks-year.md"
YEAR, QUARTER, SENT_KEPT = 500_000, 130_000, 10_000
LINKS_MAX = 60_000
"""Hard links per file: ext4 allows 65,000."""
REAL = 3
"""The number of real segments, the oldest ones: more are not read while the target is away."""
LOOKS_SECONDS = 130
"""Time for two scans of the folders by the broker, with a segment sealed each second."""
SEGMENT_BYTES = 2_000
SECONDS_MAX = 3_600.0
VERBS = ("broker", "upload", "api")
PAGES = 20
"""Requests for the page, one after another. The page caches the broker's status for a second."""


def fill(folder: Path, numbers: range, *, flat: bool) -> None:
    """Link a small file, in place of a segment, under many names."""
    folder.mkdir(parents=True, exist_ok=True)
    source = folder / "source"
    for count, number in enumerate(numbers):
        if count % LINKS_MAX == 0:
            source.unlink(missing_ok=True)
            source.write_bytes(os.urandom(SEGMENT_BYTES))
        place = folder if flat else make_subfolder(folder, number)
        os.link(source, place / name_of(number))
    source.unlink()
    for number in numbers[:REAL]:
        place = folder if flat else make_subfolder(folder, number)
        (place / name_of(number)).unlink()
        sealed([closed()], first_sequence=10 * number - 9, segment=number).write_to(place)


def figures_of(pid: int) -> tuple[float, float]:
    """Return a process's resident MiB and processor seconds."""
    status = Path(f"/proc/{pid}/status").read_text()
    resident = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    ticks = int(fields[11]) + int(fields[12])
    return int(resident.split()[1]) / 1024, ticks / os.sysconf("SC_CLK_TCK")


@contextmanager
def process(command: list[str]) -> Iterator[int]:
    """Run one of the gateway's processes."""
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        yield running.pid
    finally:
        running.terminate()
        running.wait(60)


def until(condition: Any) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + SECONDS_MAX
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(str(condition))
        time.sleep(0.2)


def settled(pid: int) -> None:
    """Wait until a process has finished starting: two seconds with little work."""
    before, quiet = figures_of(pid)[1], 0
    while quiet < 4:
        time.sleep(0.5)
        now = figures_of(pid)[1]
        quiet, before = (quiet + 1 if now - before < 0.06 else 0), now


def measured(oncegate: str, name: str, folders: dict[str, range], *, flat: bool) -> dict[str, Any]:
    """Run broker, uploader and page on a directory with these segments. Return their figures."""
    data_dir = Path(tempfile.mkdtemp(prefix="oncegate-year-"))
    try:
        for folder, numbers in folders.items():
            fill(data_dir / folder, numbers, flat=flat)
        # This id differs from the files' id. The broker's own events begin at 1, and must not be
        # confused with the events of the files.
        (data_dir / "gateway-id").write_text("gw-year\n")
        port = free_port()
        config = data_dir / "gateway.toml"
        config.write_text(
            f'[gateway]\ndata_dir = "{data_dir}"\n[[listeners]]\nport = {port}\n'
            + ('[upload]\ntarget = "http://127.0.0.1:9/"\n' if "log/sealed" in folders else "")
            + f'[session_log]\nseal_after = "1s"\n[api]\nport = {(page_port := free_port())}\n'
        )
        verbs = {verb: [oncegate, verb, "--config", str(config)] for verb in VERBS}
        with (
            process(verbs["broker"]) as broker,
            process(verbs["upload"]) as uploader,
            process(verbs["api"]) as page,
        ):
            until((data_dir / "log" / "chain.json").exists)
            settled(uploader)
            until(lambda: is_shown(page_port))
            started = {pid: figures_of(pid)[1] for pid in (broker, uploader, page)}
            first = newest_in(data_dir)
            # Each second has a separate segment.
            load = [oncegate, "bench", "--config", str(config), "--qos", "2", "--persistent"]
            load += ["--rate", "2", "--duration", str(LOOKS_SECONDS), "--warm-up", "0"]
            subprocess.run(load, capture_output=True, check=True)
            count = newest_in(data_dir) - first
            figures = {pid: figures_of(pid) for pid in (broker, uploader, page)}
            before = figures_of(page)[1]
            shown = sum(is_shown(page_port) for _ in range(PAGES))
            page_seconds = figures_of(page)[1] - before
        each = 1000 / max(1, count)
        return {
            "name": name,
            "segments": sum(map(len, folders.values())),
            "uploader_start_seconds": started[uploader],
            "uploader_mib": figures[uploader][0],
            "uploader_ms": (figures[uploader][1] - started[uploader]) * each,
            "broker_start_seconds": started[broker],
            "broker_mib": figures[broker][0],
            "broker_ms": (figures[broker][1] - started[broker]) * each,
            "page_mib": figures[page][0],
            "page_ms": 1000 * page_seconds / shown,
            "new": count,
        }
    finally:
        shutil.rmtree(data_dir)


def free_port() -> int:
    """Return a free port on loopback."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def is_shown(port: int) -> bool:
    """Request the page. Return True if it was served."""
    try:
        return httpx.get(f"http://127.0.0.1:{port}/", timeout=60).status_code == 200
    except httpx.TransportError:
        return False  # the page is still starting


def newest_in(data_dir: Path) -> int:
    """Return the number of the newest sealed segment."""
    chain = (data_dir / "log" / "chain.json").read_bytes().splitlines()[0]
    return int(json.loads(chain)["heads"][-1]["segment"])


def audited(oncegate: str, count: int, *, flat: bool) -> dict[str, Any]:
    """Run the audit over real segments: one gateway's log with one event per segment."""
    folder = Path(tempfile.mkdtemp(prefix="oncegate-year-"))
    try:
        log = LogWriter(seed=SEED)
        for number in range(1, count + 1):
            segment = log.seal([closed() if number % 2 == 0 else opened()])
            log.segments.clear()
            segment.write_to(folder if flat else make_subfolder(folder, number))
        command = [oncegate, "audit", "--segments", str(folder), "--json"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        running = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        output, _ = running.communicate()
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        result = json.loads(output)
        return {
            "segments": count,
            "verdict": result["verdict"],
            "seconds": used.ru_utime - before,
            "mib": used.ru_maxrss / 1024,
        }
    finally:
        shutil.rmtree(folder)


INTRODUCTION = """\
# A year of segments

Written by `make year` on {processor}, {cores} cores, {file_system}, Python {python}. A segment a
second: its processor time holds what each process does in that second otherwise. *Start* is
processor time until the process is at rest.

| on the device | segments | uploader, MiB | ms each | start, s | broker, MiB | ms each | start, s \
| page, MiB | ms a page |
|---|---|---|---|---|---|---|---|---|---|
"""
AUDIT = """
`oncegate audit --segments`, one event a segment:

| segments | verdict | processor time, s | MiB at most |
|---|---|---|---|
"""

OUTBOX = """
`outbox.db` with its WAL after {readings:,} readings, {rows} of them waiting: {bytes_max:,} bytes at
most.
"""

BROKER = """
`broker.db` with its WAL after {readings:,} readings, for a dashboard, an archive that is away a day
a week and a phone each hour: {tables_bytes_max:,} bytes at most, `journal/` {journal_bytes_max:,}.
{sessions} sessions are left, and the archive has {archived:,} readings.
"""


def page_of(
    rows: list[dict[str, Any]],
    audits: list[dict[str, Any]],
    outbox: dict[str, Any],
    broker: dict[str, Any],
    machine: dict[str, Any],
) -> str:
    """Write docs/benchmarks-year.md."""
    lines = [
        f"| {row['name']} | {row['segments']:,} | {row['uploader_mib']:.0f} "
        f"| {row['uploader_ms']:.0f} | {row['uploader_start_seconds']:.1f} "
        f"| {row['broker_mib']:.0f} | {row['broker_ms']:.0f} | {row['broker_start_seconds']:.1f} "
        f"| {row['page_mib']:.0f} | {row['page_ms']:.0f} |"
        for row in rows
    ]
    of_audit = [
        f"| {row['segments']:,} | {row['verdict']} | {row['seconds']:.0f} | {row['mib']:.0f} |"
        for row in audits
    ]
    return (
        INTRODUCTION.format(**machine)
        + "\n".join(lines)
        + "\n"
        + AUDIT
        + "\n".join(of_audit)
        + "\n"
        + OUTBOX.format(**outbox)
        + BROKER.format(**broker)
    )


STAGES: dict[str, dict[str, range]] = {
    "nothing": {},
    "a week, sent: the bound": {"log/sent": range(1, SENT_KEPT + 1)},
    "three months, sent: all but a week removed meanwhile": {"log/sent": range(1, QUARTER + 1)},
    "a year, the target away": {"log/sealed": range(1, YEAR + 1)},
    "a year, no target named": {
        "uploaded": range(1, YEAR + 1),
        "log/sent": range(YEAR - SENT_KEPT + 1, YEAR + 1),
    },
}


def main() -> None:
    """Measure and write the page, or print the figures of another checkout."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--oncegate", default=str(Path(sys.executable).with_name("oncegate")))
    parser.add_argument("--flat", action="store_true")
    parser.add_argument("--audit", type=int, default=50_000)
    parser.add_argument("stages", nargs="*", default=list(STAGES))
    given = parser.parse_args()
    rows = []
    for name in given.stages:
        rows.append(measured(given.oncegate, name, STAGES[name], flat=given.flat))
        print(json.dumps(rows[-1]), flush=True)
    audits = [audited(given.oncegate, given.audit, flat=given.flat)] if given.audit else []
    outbox, broker = outbox_year(), broker_year()
    print(json.dumps([*audits, outbox, broker]), flush=True)
    if not given.flat and given.stages == list(STAGES):
        PAGE.write_text(
            page_of(rows, audits, outbox, broker, machine_of(Path(tempfile.gettempdir())))
        )


if __name__ == "__main__":
    main()
