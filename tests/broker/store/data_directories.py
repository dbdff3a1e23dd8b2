"""Data directories of a broker."""

from pathlib import Path

from gateway.broker.wire.packets import Publish
from tests.broker.core.harness import Harness


def made(data_dir: Path) -> None:
    harness = Harness(data_dir)
    harness.subscriber("s", "t", 1)
    harness.checkpoint()
    harness.connect("later")
    harness.close()


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
