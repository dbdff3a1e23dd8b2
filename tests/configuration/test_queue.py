"""`[[queues]]`: the behaviour of some clients' queues when they are full."""

from pathlib import Path

from gateway.configuration import load
from gateway.configuration.queue import Queue


def test_each_table_names_clients_and_what_their_queues_do(file: Path) -> None:
    file.write_text(
        "[[queues]]\nclient = 'archive-*'\nwhen_full = 'refuse'\n"
        "[[queues]]\nclient = '*'\nwhen_full = 'drop_oldest'\n"
    )
    given = frozenset({"client", "when_full"})
    assert load(file, {}, {}, None).queues == (
        Queue(given=given, client="archive-*", when_full="refuse"),
        Queue(given=given, client="*", when_full="drop_oldest"),
    )


def test_without_a_table_every_queue_drops_the_newest_message() -> None:
    assert load(None, {}, {}, None).queues == ()
