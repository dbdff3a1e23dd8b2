"""From the files to the state: which parts a start loads into memory, and in which order."""

from pathlib import Path

import pytest

from gateway.broker.store.recovery import gaps_in
from gateway.broker.wire.packets import Puback, Publish, Pubrec, Pubrel
from tests.broker.core.harness import Harness, payloads
from tests.broker.store.data_directories import make_queue
from tests.broker.store.journal_damage import flip, frames_in, take_newest_for_unfinished


@pytest.mark.parametrize("checkpoint", [False, True])
def test_a_newest_blob_that_is_not_whole_was_being_written_when_the_power_went(
    tmp_path: Path, checkpoint: bool
) -> None:
    make_queue(tmp_path, checkpoint=checkpoint)
    take_newest_for_unfinished(tmp_path)
    path, offset, length = frames_in(tmp_path)[-1]
    flip(path, offset + length // 2)
    harness = Harness(tmp_path)
    assert harness.damage == []
    assert payloads(harness.connect("s").take()) == [b"1"]
    harness.cut()
    assert len(harness.session("s").outbound) == 1
    harness.close()


@pytest.mark.parametrize("checkpoint", [False, True])
def test_a_damaged_blob_costs_its_batch_and_not_the_next_ones(
    tmp_path: Path, checkpoint: bool
) -> None:
    make_queue(tmp_path, checkpoint=checkpoint)
    Harness(tmp_path).close()
    path, offset, length = frames_in(tmp_path)[-1]
    harness = Harness(tmp_path)
    harness.connect("another")
    harness.close()
    flip(path, offset + length // 2)
    harness = Harness(tmp_path)
    assert "journal events" in harness.damage[0]
    assert "the CRC does not match" in harness.damage[0]
    assert payloads(harness.connect("s").take()) == [b"1"]
    harness.cut()
    assert len(harness.session("s").outbound) == 1
    harness.close()


def test_the_stretches_that_are_gone_on_without_are_read_as_they_are_noted() -> None:
    assert gaps_in("") == []
    assert gaps_in("100-119 140-140") == [(100, 119), (140, 140)]
    for wrong in ("100", "100-", "a-b", "1-2-3"):
        with pytest.raises(ValueError, match=r"invalid literal|values to unpack"):
            gaps_in(wrong)


@pytest.mark.parametrize("checkpoint", [False, True])
def test_what_is_in_flight_is_sent_again_pubrel_first_and_in_the_order_of_the_pubrecs(
    tmp_path: Path, checkpoint: bool
) -> None:
    harness = Harness(tmp_path)
    client = harness.subscriber("s", "t", 2)
    publisher = harness.connect("p", clean=True)
    for number in range(1, 5):
        publisher.send(Publish("t", b"%d" % number, 2, False, False, number))
        harness.commit()
        publisher.send(Pubrel(number))
    harness.commit()
    sent = [packet.packet_id for packet in client.take() if isinstance(packet, Publish)]
    client.send(Pubrec(sent[2]), Pubrec(sent[0]))
    harness.commit()
    if checkpoint:
        harness.checkpoint()
    harness.cut()
    assert list(harness.session("s").outbound) == [sent[2], sent[0], sent[1], sent[3]]
    harness.close()


def test_the_bytes_of_a_queue_are_measured_where_the_journal_moved_its_ends(
    tmp_path: Path,
) -> None:
    harness = Harness(tmp_path)
    harness.lose(harness.subscriber("s", "t", 1))
    publisher = harness.connect("p", clean=True)
    for number in range(1, 41):
        publisher.send(Publish("t", b"x" * 10 * number, 1, False, False, number))
    harness.commit()
    harness.checkpoint()
    client = harness.connect("s")
    taken = [packet for packet in client.take() if isinstance(packet, Publish)]
    client.send(*(Puback(packet.packet_id) for packet in taken[:5]))
    harness.commit()
    harness.lose(client)
    harness.commit()
    before = harness.session("s")
    count, size_bytes = before.queued_count, before.queued_bytes
    harness.cut()
    after = harness.session("s")
    assert (after.queued_count, after.queued_bytes) == (count, size_bytes)
    harness.close()
