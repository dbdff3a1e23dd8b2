"""Readings that have arrived from ports: batches, their size in bytes, and the futures that belong
to them."""

from firmware_bridge.outbox.arrivals import Arrivals, count_of
from firmware_bridge.outbox.boards import Boards
from firmware_bridge.readings.numbering import BoardIdentity
from firmware_bridge.readings.publications import Publication

from tests.bridge.outbox.bench import readings


def accept(arrivals: Arrivals, sequence: int) -> bool:
    """Accept a frame, and return True if the frame is new."""
    publications, placement = arrivals.accept(
        BoardIdentity(7, 1, sequence), bytes((sequence,)) * 8, "port", lambda boot: readings("a")
    )
    arrivals.add(publications)
    return placement.is_new


async def test_a_batch_is_sealed_with_its_future_and_the_next_begins() -> None:
    arrivals = Arrivals(Boards())
    durable = arrivals.add(readings("a", "b"))
    batch = arrivals.seal()
    later = arrivals.add(readings("c"))
    assert (batch.durable is durable, later is durable) == (True, False)
    assert (arrivals.count, arrivals.gathered_count, count_of(arrivals.sealed)) == (3, 1, 2)
    arrivals.committed([batch])
    assert (durable.done(), later.done()) == (True, False)
    assert (arrivals.count, list(arrivals.sealed)) == (1, [])


async def test_bytes_count_until_they_are_durable() -> None:
    arrivals = Arrivals(Boards())
    arrivals.add([Publication("sensors/d/a", b"12345")])
    held = arrivals.bytes_count
    batch = arrivals.seal()
    assert arrivals.bytes_count == held > len("sensors/d/a") + 5
    arrivals.committed([batch])
    assert arrivals.bytes_count == 0


async def test_batches_wait_in_line_and_leave_from_its_head() -> None:
    arrivals = Arrivals(Boards())
    batches = []
    for name in "abc":
        arrivals.add(readings(name))
        batches.append(arrivals.seal())
    arrivals.committed(batches[:2])
    assert list(arrivals.sealed) == batches[2:]
    arrivals.complete_empty(batches[2])
    assert not batches[2].durable.done(), "it still waits for room on the disk"


async def test_an_empty_batch_is_not_kept_and_completes_with_what_was_settled() -> None:
    arrivals = Arrivals(Boards())
    batch = arrivals.seal()
    assert list(arrivals.sealed) == []
    arrivals.complete_empty(batch)
    arrivals.complete_empty(batch)
    assert batch.durable.done()


async def test_a_repeated_frame_is_durable_with_what_it_repeats() -> None:
    arrivals = Arrivals(Boards())
    assert accept(arrivals, 1)
    assert arrivals.durable_without_commit() is None, "its original is only gathered"
    batch = arrivals.seal()
    assert not accept(arrivals, 1)
    assert arrivals.durable_without_commit() is batch.durable
    arrivals.committed([batch])
    stored = arrivals.durable_without_commit()
    assert stored is not None
    assert stored.done()


async def test_one_board_too_many_is_known_before_its_frame_is_taken() -> None:
    boards = Boards()
    boards.has_room_for = lambda device: device == 7  # type: ignore[method-assign]
    arrivals = Arrivals(boards)
    assert arrivals.has_room_for(7)
    assert not arrivals.has_room_for(8)
