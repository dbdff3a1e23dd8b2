"""Search for the genuine segment if a gateway has several segments with the same number.

A gateway uses each segment number once, and each segment contains the SHA-256 of the previous
segment. The first signed segment therefore proves which unsigned segments before it are genuine. If
no segment is signed, the newest segment is used instead.
"""

from collections.abc import Iterator
from itertools import groupby, pairwise
from pathlib import Path

from gateway.tools.audit.log_reader import EventRange
from gateway.tools.audit.segments import event_range_of, in_order
from gateway.tools.audit.signature_trust import SignatureTrust
from gateway.uploader.segments.names import SegmentName
from gateway.uploader.segments.verify import DamagedSegment

Found = tuple[SegmentName, Path]


def rejected_rivals(found: dict[str, str], trust: SignatureTrust) -> dict[str, str]:
    """Return the segments to reject because another segment with the same number is genuine.

    The result maps the file name of each rejected segment to the reason.

    Args:
        found: all segments, as a mapping from file name to folder.
        trust: the trusted keys. A segment that is signed with another key proves nothing.
    """
    rejected: dict[str, str] = {}
    for gateway in _contested_gateways(found):
        own = {text: folder for text, folder in found.items() if text.startswith(f"{gateway}.")}
        by_number = {
            number: list(members)
            for number, members in groupby(in_order(own), lambda each: each[0].segment)
        }
        rejected.update(_outside_the_chain(by_number, trust))
    return rejected


def _contested_gateways(found: dict[str, str]) -> Iterator[str]:
    """Yield each gateway that has several different segments with the same number."""
    contested = (
        one.gateway
        for (one, _), (other, _) in pairwise(in_order(found))
        if (one.gateway, one.segment) == (other.gateway, other.segment)
    )
    for gateway, _ in groupby(contested):
        yield gateway


def _outside_the_chain(
    by_number: dict[int, list[Found]], trust: SignatureTrust
) -> Iterator[tuple[str, str]]:
    """Yield the file name of each segment outside the chain, with the reason for its rejection.

    The chain of hashes is followed backwards from a genuine segment (`_chain_start`).
    """
    segment = _chain_start(by_number, trust)
    while segment is not None and segment.previous_sha256 is not None:
        assert segment.segment is not None
        rivals = by_number.get(segment.segment - 1, [])
        real = next((each for each in rivals if each[0].sha256 == segment.previous_sha256), None)
        if real is None:
            return
        for _, path in rivals:
            if path != real[1]:
                named = f"segment {segment.segment} names as the one before it"
                yield path.name, f"another segment {real[0].segment} is the one that {named}"
        segment = _read(*real)


def _chain_start(by_number: dict[int, list[Found]], trust: SignatureTrust) -> EventRange | None:
    """Return the segment from which to follow the chain of hashes backwards.

    This is the first segment with a trusted signature. If no segment has a trusted signature, it is
    the newest segment, or None if the newest is damaged or several have the highest number.
    """
    for number in sorted(by_number):
        segment = _signed_of(by_number[number], trust)
        if segment is not None:
            return segment
    newest = by_number[max(by_number)]
    return _read(*newest[0]) if len(newest) == 1 else None


def _signed_of(members: list[Found], trust: SignatureTrust) -> EventRange | None:
    """Return the one segment with a trusted signature, or None if there are none or several.

    `members` are all segments that have the same number.
    """
    signed = [
        segment
        for segment in (_read(*each) for each in members)
        if segment is not None
        and segment.public_key is not None
        and trust.is_trusted(segment.gateway, segment.public_key)
    ]
    return signed[0] if len(signed) == 1 else None


def _read(name: SegmentName, path: Path) -> EventRange | None:
    try:
        return event_range_of(name, path)
    except DamagedSegment:
        return None
