"""The key that signed a segment, and manipulated segments that no key has signed."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from backports import zstd
from hypothesis import given, settings
from hypothesis import strategies as st

from cloud_jobs.ingest.segment_file import Verdict, verify
from gateway.uploader.segments.names import segment_name_of
from gateway.uploader.segments.verify import DamagedSegment, segment_of
from tests.contract.segments import (
    OTHER_SEED,
    SEED,
    Segment,
    compressed,
    numbered,
    opened,
    public_key_of,
    readings,
    sealed,
    segment_name,
    signature_fields,
)

KEY = public_key_of(SEED)


def judged(segment: Segment) -> Verdict:
    return verify(segment.name, segment.content, len(segment.content))


def signed(
    footer: Mapping[str, object] | None = None, gateway: str = "gw-1", seed: bytes | None = SEED
) -> Segment:
    events = numbered([opened(), *readings(3)], 5)
    return sealed(events, first_sequence=5, gateway=gateway, seed=seed, footer=footer)


def with_text(text: bytes) -> Segment:
    """Return these lines in a new frame, with the name of `signed()` and the right sha256."""
    content = compressed(text)
    name = segment_name(
        content, gateway="gw-1", boot="0f3a5c7e9b1d2f40", segment=1, first=5, last=11
    )
    return Segment(name, content)


TEXT = zstd.decompress(signed().content)


def keys_found(segment: Segment) -> set[str | None]:
    """Return the result of each of the two readers for a segment: its key, or `refused`."""
    verdict = judged(segment)
    found: set[str | None] = {"refused" if verdict.reason else verdict.public_key}
    name = segment_name_of(segment.name)
    assert name is not None
    try:
        found.add(segment_of(name, segment.content).public_key)
    except DamagedSegment:
        found.add("refused")
    return found


def test_a_signed_segment_names_its_key_and_an_unsigned_one_none() -> None:
    assert keys_found(signed()) == {KEY}
    assert keys_found(signed(seed=None)) == {None}


def test_a_signature_of_other_lines_is_refused() -> None:
    fields = signature_fields(SEED, gateway="gw-1", segment=1, first=5, last=11, sha256="ab" * 32)
    verdict = judged(signed(fields))
    assert (verdict.reason, verdict.public_key, verdict.lines) == ("bad_signature", None, [])
    assert "log/sent" in str(verdict.detail)


def test_the_footer_of_another_gateway_s_segment_is_refused() -> None:
    other = json.loads(zstd.decompress(signed(gateway="gw-2").content).splitlines()[-1])
    assert judged(signed(other)).reason == "digest"
    fields = {name: other[name] for name in ("public_key", "signature")}
    assert judged(signed(fields)).reason == "bad_signature"


@pytest.mark.parametrize(
    "footer",
    [
        {"public_key": public_key_of(OTHER_SEED)},
        {"public_key": KEY.upper()},
        {"public_key": None},
        {"public_key": "ff" * 32},
        {"signature": None},
        {"signature": "00" * 64},
        {"signature": 7},
    ],
)
def test_a_tampered_signature_is_refused_by_both_readers(footer: dict[str, object]) -> None:
    assert judged(signed(footer)).reason == "bad_signature"
    assert keys_found(signed(footer)) == {"refused"}


@settings(max_examples=400)
@given(place=st.integers(0, len(TEXT) - 1), bits=st.integers(1, 255))
def test_whichever_byte_is_changed_the_segment_is_not_the_gateway_s_any_more(
    place: int, bits: int
) -> None:
    changed = bytearray(TEXT)
    changed[place] ^= bits
    assert KEY not in keys_found(with_text(bytes(changed)))


@settings(max_examples=100)
@given(data=st.data())
def test_whichever_byte_of_the_file_is_changed_it_is_refused(data: st.DataObject) -> None:
    segment = signed()
    content = bytearray(segment.content)
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    assert judged(Segment(segment.name, bytes(content))).reason is not None
