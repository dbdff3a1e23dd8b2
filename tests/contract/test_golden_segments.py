"""The gateway's writer and reader, tested with segments that other code built.

golden/ holds files that never change. `tests.contract.segments` builds more from the contract
alone. From the same events the gateway must write the same JSON, line for line, and each reader
must accept the other writer's files.
"""

from __future__ import annotations

import base64
from pathlib import Path

import orjson
import pytest
from backports import zstd

from cloud_jobs.ingest import segment_file
from gateway.uploader.segments.lines import LineEncoder, Value
from gateway.uploader.segments.names import segment_name_of, segments_in
from gateway.uploader.segments.signature import Signer
from gateway.uploader.segments.verify import load_segment
from gateway.uploader.segments.writer import SegmentHeader, SegmentWriter
from gateway.uploader.settings import LINE_BYTES_MAX
from tests.contract.segments import (
    SEED,
    LogWriter,
    closed,
    held,
    opened,
    public_key_of,
    published,
    readings,
)
from tests.uploader.chains import check_chain

GOLDEN = Path(__file__).parent / "golden"
GOLDEN_SEGMENTS = [GOLDEN / str(name) for name in segments_in(GOLDEN)]


def lines_of(path: Path) -> list[dict[str, object]]:
    """Return all lines, including header and footer, as JSON values."""
    text = zstd.decompress(path.read_bytes())
    return [orjson.loads(line) for line in text.splitlines()]


def in_the_journal(event: dict[str, object]) -> dict[str, Value]:
    """Return the event as the journal stores it, with the payload as bytes.

    A payload that the log replaces with its hash cannot be restored, so its fields stay as they
    are.
    """
    raw = dict(event)
    del raw["sequence"], raw["time"]
    payload = raw.pop("payload", None)
    encoded = raw.pop("payload_base64", None)
    if isinstance(payload, str):
        raw["payload"] = payload.encode()
    elif isinstance(encoded, str):
        raw["payload"] = base64.b64decode(encoded, validate=True)
    if "payload" in raw:
        del raw["payload_bytes"]
    return raw  # type: ignore[return-value]


def written_again(path: Path, directory: Path) -> Path:
    """Write the same events with the gateway's writer, signed if the original is.

    Return the path.
    """
    header, *events, footer = lines_of(path)
    assert isinstance(footer["first_sequence"], int)
    (directory / "open").mkdir()
    (directory / "sealed").mkdir()
    writer = SegmentWriter(
        directory / "open",
        SegmentHeader(
            gateway=str(header["gateway"]),
            boot=str(header["boot"]),
            store=str(header["store"]),
            clock=str(header["clock"]),
            segment=int(str(header["segment"])),
            previous_sha256=header["previous_sha256"],  # type: ignore[arg-type]
        ),
        footer["first_sequence"],
        Signer(SEED) if "signature" in footer else None,
    )
    topics = tuple({str(event["topic"]) for event in events if "topic" in event})
    encoder = LineEncoder(topics, LINE_BYTES_MAX)
    for event in events:
        sequence, time_ms = event["sequence"], event["time"]
        assert isinstance(sequence, int)
        assert isinstance(time_ms, int)
        writer.append(encoder.line_of(sequence, time_ms, in_the_journal(event)), 1)
    return directory / "sealed" / str(writer.seal(directory / "sealed"))


def check_both_ways(path: Path, directory: Path) -> None:
    ours = written_again(path, directory)
    assert lines_of(ours) == lines_of(path)
    name, their_name = segment_name_of(ours.name), segment_name_of(path.name)
    assert name is not None
    assert their_name is not None
    assert str(name).split(".")[:4] == str(their_name).split(".")[:4]
    assert [dict(event) for event in load_segment(path).events] == lines_of(path)[1:-1]
    content = ours.read_bytes()
    verdict = segment_file.verify(ours.name, content, len(content))
    assert (verdict.reason, verdict.detail) == (None, None)
    assert verdict.public_key == load_segment(path).public_key
    assert [line.reason for line in verdict.lines] == [None] * len(lines_of(ours)[1:-1])


@pytest.mark.parametrize("path", GOLDEN_SEGMENTS, ids=lambda path: path.name[:34])
def test_the_gateway_writes_what_the_golden_segments_hold_and_reads_them(
    path: Path, tmp_path: Path
) -> None:
    check_both_ways(path, tmp_path)


def test_the_golden_segments_of_each_gateway_form_a_chain() -> None:
    for gateway in {path.name.partition(".")[0] for path in GOLDEN_SEGMENTS}:
        of_one = [path for path in GOLDEN_SEGMENTS if path.name.startswith(f"{gateway}.")]
        check_chain(load_segment(path) for path in of_one)


def test_the_golden_segments_of_the_signing_gateway_are_signed_by_its_key() -> None:
    keys = {path.name.partition(".")[0]: load_segment(path).public_key for path in GOLDEN_SEGMENTS}
    assert keys == {"gw-golden": None, "gw-signed": public_key_of(SEED)}


@pytest.mark.parametrize("seed", [None, SEED])
def test_the_gateway_and_the_contracts_text_agree_on_a_whole_log(
    tmp_path: Path, seed: bytes | None
) -> None:
    log = LogWriter(seed=seed)
    log.seal([opened(), *readings(20), closed()])
    log.seal([published(21, "21.5 °C\n\x00\u2028", topic="sensors/ä/\x01"), held(22, "")])
    paths = [segment.write_to(tmp_path) for segment in log.segments]
    check_chain(load_segment(path) for path in paths)
    for number, path in enumerate(paths):
        directory = tmp_path / str(number)
        directory.mkdir()
        check_both_ways(path, directory)
