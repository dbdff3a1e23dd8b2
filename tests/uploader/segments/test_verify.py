from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import orjson
import pytest
from backports import zstd

from gateway.uploader.segments.chain import Chain
from gateway.uploader.segments.names import SegmentName, segment_name_of
from gateway.uploader.segments.verify import DamagedSegment, load_segment
from tests.uploader.journals import Broker
from tests.uploader.stage import Stage


async def sealed_lines(stage: Stage) -> tuple[SegmentName, list[dict[str, object]]]:
    """Return the name of a complete segment and its parsed lines."""
    stage.journal.blobs = [Broker().exchanges(2)]
    await stage.run_once()
    (path,) = stage.uploaded_dir.iterdir()
    name = segment_name_of(path.name)
    assert name is not None
    text = zstd.decompress(path.read_bytes())
    return name, [orjson.loads(line) for line in text.splitlines()]


def written(directory: Path, name: SegmentName, data: bytes) -> Path:
    """Write `data` under a name with the correct sha256, so that only the contents can be wrong."""
    right = SegmentName(
        name.gateway,
        name.boot,
        name.segment,
        name.first_sequence,
        name.last_sequence,
        hashlib.sha256(data).hexdigest(),
    )
    path = directory / str(right)
    path.write_bytes(data)
    return path


def packed(lines: list[dict[str, object]]) -> bytes:
    """Return the lines as a frame, with the footer's sha256 corrected."""
    body = b"".join(orjson.dumps(line) + b"\n" for line in lines[:-1])
    footer = {**lines[-1], "sha256": hashlib.sha256(body).hexdigest()}
    return zstd.compress(body + orjson.dumps(footer) + b"\n")


Change = Callable[[list[dict[str, object]]], object]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda lines: lines.pop(3), "footer: count is 10, expected 9"),
        (lambda lines: lines.insert(3, lines[3]), "footer: count is 10, expected 11"),
        (lambda lines: lines.insert(3, lines.pop(4)), "event 3: sequence is 4, expected 3"),
        (lambda lines: lines[2].update(sequence="2"), "event 2: sequence is '2', expected 2"),
        (lambda lines: lines[2].update(sequence=True), "event 2: sequence is True"),
        (lambda lines: lines[0].update(format="other"), "header: format is 'other'"),
        (lambda lines: lines[0].update(version=0), "header: version is 0"),
        (lambda lines: lines[0].update(version=2), "it has version 2 of the format"),
        (lambda lines: lines[0].update(gateway="gw-2"), "header: gateway is 'gw-2'"),
        (lambda lines: lines[0].update(boot="0" * 16), "header: boot is '0000"),
        (lambda lines: lines[0].update(segment=2), "header: segment is 2"),
        (lambda lines: lines[-1].update(last_sequence=11), "footer: last_sequence is 11"),
        (lambda lines: lines[-1].update(count=11), "footer: count is 11"),
        (lambda lines: lines[-1].update(first_sequence=0), "footer: first_sequence is 0"),
        (lambda lines: [lines.pop() for _ in range(10)], "2 lines"),
        (lambda lines: lines.pop(), "footer: count is None"),
    ],
)
async def test_what_is_wrong_inside_a_segment_is_found_though_its_checksums_are_right(
    stage: Stage, tmp_path: Path, change: Change, reason: str
) -> None:
    name, lines = await sealed_lines(stage)
    change(lines)
    with pytest.raises(DamagedSegment) as damage:
        load_segment(written(tmp_path, name, packed(lines)))
    assert reason in str(damage.value)


async def test_a_newest_segment_of_a_later_version_is_left_where_it_is(
    stage: Stage, tmp_path: Path
) -> None:
    name, lines = await sealed_lines(stage)
    lines[0].update(version=2)
    path = written(stage.log_dir / "sealed", name, packed(lines))
    chain = Chain(stage.log_dir, "gw-1")
    chain.load()
    assert path.exists()
    assert chain.head is not None
    assert chain.head.sha256 in path.name


async def test_bytes_that_are_not_one_whole_frame_are_refused(stage: Stage, tmp_path: Path) -> None:
    name, lines = await sealed_lines(stage)
    data = packed(lines)
    for wrong in (b"", b"\n", data[:-1], data[:40], data + b"x", data + data, data[1:]):
        with pytest.raises(DamagedSegment):
            load_segment(written(tmp_path, name, wrong))


async def test_every_flipped_bit_is_found_by_the_name(stage: Stage, tmp_path: Path) -> None:
    name, _ = await sealed_lines(stage)
    data = (stage.uploaded_dir / str(name)).read_bytes()
    for index in range(0, len(data), 7):
        path = tmp_path / str(name)
        path.write_bytes(data[:index] + bytes([data[index] ^ 0x10]) + data[index + 1 :])
        with pytest.raises(DamagedSegment, match="sha256"):
            load_segment(path)


async def test_a_frame_that_unpacks_to_more_than_a_segment_is_not_unpacked(
    stage: Stage, tmp_path: Path
) -> None:
    name, _ = await sealed_lines(stage)
    bomb = zstd.compress(b"x" * 9_000_000)
    with pytest.raises(DamagedSegment, match="more than 8000000 bytes uncompressed"):
        load_segment(written(tmp_path, name, bomb))


async def test_lines_that_are_no_json_objects_are_refused(stage: Stage, tmp_path: Path) -> None:
    name, _ = await sealed_lines(stage)
    for text in (b"a\nb\nc\n", b"[]\n[]\n[]\n", b"{}\n{}\n{}", b"\xff\n{}\n{}\n"):
        with pytest.raises(DamagedSegment):
            load_segment(written(tmp_path, name, zstd.compress(text)))
