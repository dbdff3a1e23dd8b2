"""Data directories of a broker, of this version or of an earlier one."""

import os
import sqlite3
import tarfile
from contextlib import closing
from pathlib import Path

from gateway.broker.store.database import DATABASE_NAME
from gateway.broker.wire.packets import Publish
from tests.broker.core.harness import Harness

GOLDEN = Path(__file__).parent / "golden"


def made(data_dir: Path) -> None:
    harness = Harness(data_dir)
    harness.subscriber("s", "t", 1)
    harness.checkpoint()
    harness.connect("later")
    harness.close()


def golden(number: int, directory: Path) -> Path:
    """Extract the golden data directory of this format; return its path."""
    with tarfile.open(GOLDEN / f"{number}.tar.xz") as archive:
        archive.extractall(directory, filter="data")
    return directory / "data"


def overwrite_page(data_dir: Path, name: str, byte: bytes) -> None:
    """Damage the first page of a table or an index."""
    with closing(sqlite3.connect(data_dir / DATABASE_NAME)) as connection:
        query = "SELECT rootpage FROM sqlite_schema WHERE name = ?"
        (root,) = connection.execute(query, (name,)).fetchone()
        (size,) = connection.execute("PRAGMA page_size").fetchone()
    descriptor = os.open(data_dir / DATABASE_NAME, os.O_RDWR)
    os.pwrite(descriptor, byte * size, (root - 1) * size)
    os.close(descriptor)


def make_state(data_dir: Path, messages: int = 200) -> None:
    harness = Harness(data_dir)
    harness.lose(harness.subscriber("s", "t", 1))
    publisher = harness.connect("p", clean=True)
    for number in range(messages):
        publisher.send(Publish("t", b"%d" % number + b"x" * 200, 1, False, False, number + 1))
    publisher.send(Publish("kept", b"retained", 1, True, False, 999))
    harness.commit()
    harness.checkpoint()
    harness.close()


def make_queue(data_dir: Path, *, checkpoint: bool) -> None:
    harness = Harness(data_dir)
    harness.lose(harness.subscriber("s", "t", 1))
    publisher = harness.connect("p", clean=True)
    publisher.send(Publish("t", b"1", 1, False, False, 1))
    harness.commit()
    if checkpoint:
        harness.checkpoint()
    publisher.send(Publish("t", b"2", 1, False, False, 2))
    harness.commit()
    harness.close()
