"""Recordings of real receivers, played through the whole gateway into the tables."""

import asyncio
import os
import re
import shutil
import time
import tty
from collections.abc import Callable, Iterator
from functools import reduce
from operator import xor
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from cloud_jobs.main import ingest
from cloud_jobs.settings import IngestSettings
from tests.system.published_ledger import Reading, begin_ledger, readings_of_ledger
from tests.system.session_log import deliveries_of
from tests.system.whole_gateway import WholeGateway

REPLAY_DEADLINE_SECONDS = 60.0
DAMAGED_EVERY = 10
LINES_MAX = 250


def sentences_of(recording: bytes) -> list[str]:
    """Return the sentences with a valid checksum, without their `$` and their `*`."""
    return [
        match[1].decode()
        for match in re.finditer(rb"\$([^$\r\n]*)\*([0-9A-F]{2})", recording)
        if reduce(xor, match[1], 0) == int(match[2], 16)
    ]


def _other_digit(digit: re.Match[bytes]) -> bytes:
    return b"%d" % (9 - int(digit[0]))


def _with_damage(recording: bytes) -> tuple[bytes, int]:
    """Return the recording with a changed digit in every tenth sentence, and their number."""
    lines = recording.splitlines(keepends=True)
    whole = [index for index, line in enumerate(lines) if sentences_of(line)]
    chosen = whole[::DAMAGED_EVERY]
    for index in chosen:
        lines[index] = re.sub(rb"\d", _other_digit, lines[index], count=1)
    return b"".join(lines), len(chosen)


@pytest.fixture
def recordings() -> dict[str, bytes]:
    """The beginnings of the recordings next to the checkout, by the name of their port.

    They contain every kind of sentence. tests/bridge/test_captures.py replays the whole recordings.
    """
    folder = Path(__file__).resolve().parents[3] / "shared" / "captures" / "nmea"
    if not folder.is_dir():
        pytest.skip("the recordings of real receivers are not beside this checkout")
    return {
        path.stem.lower(): b"".join(path.read_bytes().splitlines(keepends=True)[:LINES_MAX])
        for path in sorted(folder.iterdir())
    }


@pytest.fixture
def new_terminal() -> Iterator[Callable[[], tuple[int, str]]]:
    """Return a function that creates pseudo-terminals: the receiver's end and the bridge's path."""
    open_ends: list[int] = []

    def make() -> tuple[int, str]:
        ours, theirs = os.openpty()
        open_ends.extend((ours, theirs))
        # Bytes must not be echoed or translated before the bridge sets its own mode.
        tty.setraw(theirs)
        return ours, os.ttyname(theirs)

    yield make
    for end in open_ends:
        os.close(end)


def _write_all(terminal: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(terminal, view) :]


def _ports_when(gateway: WholeGateway, condition: Callable[[dict[str, Any]], bool]) -> Any:
    """Return the bridge's ports by name, once its report satisfies the condition."""
    deadline = time.monotonic() + REPLAY_DEADLINE_SECONDS
    while True:
        status = gateway.bridge_status()
        if status is not None and condition(status):
            return {port["name"]: port for port in status["ports"]}
        assert time.monotonic() < deadline, status
        time.sleep(0.2)


@pytest.mark.long
@pytest.mark.timeout(400)
async def test_every_valid_sentence_is_once_in_the_broker_the_log_and_the_table(
    spark: SparkSession,
    empty_tables: Path,
    gateway: WholeGateway,
    recordings: dict[str, bytes],
    new_terminal: Callable[[], tuple[int, str]],
) -> None:
    quectel = next(data for name, data in recordings.items() if name.startswith("quectel"))
    damaged_recording, damaged_count = _with_damage(quectel)
    streams = recordings | {"damaged": damaged_recording}
    terminals = {name: new_terminal() for name in streams}
    gateway.configure(
        "".join(
            f'[[serial]]\nname = "{name}"\npath = "{path}"\nframing = "nmea"\n'
            for name, (_, path) in terminals.items()
        )
    )
    await begin_ledger(gateway.data_directory)
    gateway.start()
    expected = {name: sentences_of(data) for name, data in streams.items()}
    total = sum(len(sentences) for sentences in expected.values())
    _ports_when(gateway, lambda status: all(port["state"] == "open" for port in status["ports"]))
    async with asyncio.TaskGroup() as replays:
        for name, data in streams.items():
            replays.create_task(asyncio.to_thread(_write_all, terminals[name][0], data))
    ports = _ports_when(gateway, lambda status: bool(status["outbox"]["published"] == total))
    assert {name: port["readings"] for name, port in ports.items()} == {
        name: len(sentences) for name, sentences in expected.items()
    }
    assert ports["damaged"]["damaged"] == {"checksum": damaged_count}
    assert gateway.stop() == 0
    uploaded, tables = (str(gateway.data_directory / name) for name in ("uploaded", "tables"))
    shutil.copytree(empty_tables, tables)
    settings = IngestSettings(source=uploaded, tables=tables)
    report = await asyncio.to_thread(ingest, spark, settings, lambda _: None, lambda _: None)
    readings = await readings_of_ledger(gateway.data_directory)
    _are_the_sentences(readings, expected)
    assert deliveries_of(gateway.data_directory).released.total() == total
    # A sentence is one payload with several records, and each record is a row.
    rows = report.tables["sensor_readings"].rows
    assert rows == sum(len(reading.records) for reading in readings)
    assert (report.tables["quarantine"].rows, report.gaps) == (0, [])


def _are_the_sentences(readings: list[Reading], expected: dict[str, list[str]]) -> None:
    for name, sentences in expected.items():
        of_port = [reading for reading in readings if reading.identity[0] == name]
        in_order = sorted(of_port, key=lambda reading: reading.identity[2])
        assert [reading.records[0]["vs"] for reading in in_order] == sentences
        assert [reading.identity[2] for reading in in_order] == list(range(1, len(sentences) + 1))
