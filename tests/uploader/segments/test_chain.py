from __future__ import annotations

import hashlib

import orjson
import pytest

from gateway.uploader.segments.chain import Chain
from gateway.uploader.segments.names import segments_in
from gateway.uploader.segments.newer_format import NewerFormat
from tests.uploader.journals import Broker
from tests.uploader.stage import Stage

# Files as a crash or a fault would leave them are created by hand here, on top of a real log.


@pytest.fixture
async def three(stage: Stage) -> Stage:
    """Return a stage with three segments of five events, all uploaded.

    The journal still has everything.
    """
    broker = Broker()
    for _ in range(3):
        stage.journal.blobs.append(broker.exchanges(1))
        await stage.run_once()
    assert stage.sequences() == list(range(1, 16))
    return stage


def loaded(stage: Stage) -> Chain:
    chain = Chain(stage.log_dir, "gw-1")
    chain.load()
    return chain


async def test_the_chain_continues_from_its_state_when_all_files_are_gone(three: Stage) -> None:
    before = loaded(three).head
    for path in (three.log_dir / "sent").iterdir():
        path.unlink()
    assert loaded(three).head == before
    await three.run_once()
    assert three.sequences() == list(range(1, 16))


async def test_the_chain_continues_from_its_files_when_the_state_is_gone(three: Stage) -> None:
    before = loaded(three).head
    (three.log_dir / "chain.json").unlink()
    assert loaded(three).head == before
    await three.run_once()
    assert three.sequences() == list(range(1, 16))


@pytest.mark.parametrize("damage", [b"", b"{}\n", b"\x00" * 300, b"[1]\nabc\n"])
async def test_a_damaged_state_is_set_aside_and_made_again(three: Stage, damage: bytes) -> None:
    before = loaded(three).head
    (three.log_dir / "chain.json").write_bytes(damage)
    assert loaded(three).head == before
    assert (three.log_dir / "damaged" / "chain.json").read_bytes() == damage
    assert loaded(three).head == before


async def test_a_crash_between_the_seal_and_the_state_is_made_good(three: Stage) -> None:
    state = (three.log_dir / "chain.json").read_bytes()
    broker = Broker(after=15)
    three.journal.blobs.append(broker.exchanges(1))
    await three.run_once()
    (three.log_dir / "chain.json").write_bytes(state)
    chain = loaded(three)
    assert (chain.next_segment, chain.last_sequence) == (5, 20)
    await three.run_once()
    assert three.sequences() == list(range(1, 21))


async def test_a_newest_segment_that_the_disk_lost_is_written_again_from_the_journal(
    three: Stage,
) -> None:
    three.with_settings(target=(three.settings.data_dir / "away" / "x").as_uri())
    broker = Broker(after=15)
    three.journal.blobs.append(broker.exchanges(1))
    await three.run_once()
    (name,) = segments_in(three.log_dir / "sealed")
    path = three.log_dir / "sealed" / str(name)
    path.write_bytes(b"\x00" * path.stat().st_size)
    chain = loaded(three)
    assert (chain.next_segment, chain.last_sequence) == (4, 15)
    assert loaded(three).last_sequence == 15, "a second start must not forget it"
    three.with_settings(target=three.uploaded_dir.as_uri())
    await three.run_once()
    assert three.sequences() == list(range(1, 21))


# A dangling link is like a file that is moved away after the listing and before it is opened.


async def test_a_segment_that_is_sent_between_listing_and_reading_keeps_its_place(
    three: Stage,
) -> None:
    before = loaded(three).head
    newest = segments_in(three.log_dir / "sent")[-1]
    (three.log_dir / "sealed" / str(newest)).symlink_to("moved away")
    assert loaded(three).head == before
    # The segment is also removed from the sent ones.
    (three.log_dir / "sent" / str(newest)).unlink()
    assert loaded(three).head == before


async def test_a_segment_that_is_given_up_between_listing_and_reading_is_written_again(
    three: Stage,
) -> None:
    newest = segments_in(three.log_dir / "sent")[-1]
    (three.log_dir / "damaged").mkdir()
    (three.log_dir / "sent" / str(newest)).rename(three.log_dir / "damaged" / str(newest))
    (three.log_dir / "sealed" / str(newest)).symlink_to("moved away")
    assert loaded(three).next_segment == newest.segment


async def test_state_and_journal_both_gone_begin_a_new_chain_after_what_is_there(
    stage: Stage,
) -> None:
    stage.with_settings(sent_bytes_keep=0)
    stage.journal.blobs = [Broker().exchanges(1)]
    await stage.run_once()
    (stage.log_dir / "chain.json").unlink()
    stage.journal.blobs = [Broker(after=5).exchanges(1)]
    await stage.run_once()
    names = segments_in(stage.uploaded_dir)
    assert [(n.segment, n.first_sequence) for n in names] == [(1, 1), (1, 6)]


async def test_a_gateway_with_a_new_id_begins_a_chain_but_repeats_no_event(three: Stage) -> None:
    three.with_settings(gateway="gw-2")
    three.journal.blobs.append(Broker(after=15).exchanges(1))
    await three.run_once()
    new = [name for name in segments_in(three.uploaded_dir) if name.gateway == "gw-2"]
    assert [(n.segment, n.first_sequence, n.last_sequence) for n in new] == [(1, 16, 20)]


async def test_a_file_of_the_same_number_with_another_hash_counts_more_than_the_state(
    three: Stage, caplog: pytest.LogCaptureFixture
) -> None:
    other = Stage(three.settings, three.journal)
    state = (three.log_dir / "chain.json").read_bytes()
    newest = segments_in(three.log_dir / "sent")[-1]
    for path in (three.log_dir / "sent").iterdir():
        path.unlink()
    three.journal.blobs = [Broker(boot="another").exchanges(1)]
    (three.log_dir / "chain.json").unlink()
    for _ in range(3):
        await other.run_once()
        other.journal.blobs.append(
            Broker(boot="another", after=5 * len(other.journal.blobs)).exchanges(1)
        )
    (three.log_dir / "chain.json").write_bytes(state)
    head = loaded(three).head
    assert head is not None
    assert head.segment == 3
    assert head.sha256 != newest.sha256
    assert "the file is taken as right" in caplog.text


def test_a_chain_of_a_later_version_is_refused_in_a_sentence_and_left_alone(
    stage: Stage,
) -> None:
    text = orjson.dumps(
        {"format": "oncegate-log-chain", "version": 2, "heads": [], "boots": [], "more": 1}
    )
    stage.log_dir.mkdir()
    path = stage.log_dir / "chain.json"
    path.write_bytes(text + b"\n" + hashlib.sha256(text).hexdigest().encode() + b"\n")
    before = path.read_bytes()
    for _ in range(10):
        with pytest.raises(NewerFormat, match="version 2, this version of Oncegate understands 1"):
            Chain(stage.log_dir, "gw-1").load()
    assert path.read_bytes() == before
    assert not (stage.log_dir / "damaged").exists()


@pytest.mark.parametrize(
    "change",
    [{"segment": "3"}, {"segment": True}, {"last_sequence": None}, {"sha256": 7}, {"segment": 0}],
)
def test_a_chain_whose_values_are_of_another_kind_is_damaged(
    stage: Stage, change: dict[str, object]
) -> None:
    head = {"gateway": "gw-1", "boot": "b", "segment": 3, "last_sequence": 9, "sha256": "a" * 64}
    state = {"format": "oncegate-log-chain", "version": 1, "heads": [head | change], "boots": []}
    text = orjson.dumps(state)
    stage.log_dir.mkdir()
    path = stage.log_dir / "chain.json"
    path.write_bytes(text + b"\n" + hashlib.sha256(text).hexdigest().encode() + b"\n")
    chain = Chain(stage.log_dir, "gw-1")
    chain.load()
    assert chain.head is None
    assert (stage.log_dir / "damaged" / "chain.json").exists()
