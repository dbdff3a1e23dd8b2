"""Decides which of several segments with the same number is genuine, using the chain of hashes.

A gateway uses each segment number once, and each segment contains the SHA-256 of the previous
segment. The first signed segment therefore proves which unsigned segments before it are genuine. If
no segment is signed, the newest segment is used instead.
"""

from collections.abc import Iterator
from itertools import groupby, pairwise
from pathlib import Path

from gateway.tools.audit.segments import in_order, stretch_of
from gateway.tools.audit.vouching import SignatureTrust
from gateway.tools.audit.walk import Stretch
from gateway.uploader.segments.names import SegmentName
from gateway.uploader.segments.verify import DamagedSegment

Found = tuple[SegmentName, Path]


def rejected_rivals(found: dict[str, str], vouching: SignatureTrust) -> dict[str, str]:
    """Return the segments to reject because another segment with the same number is genuine.

    The result maps the file name of each rejected segment to the reason.

    Args:
        found: the segments to compare. Maps each segment's file name to its folder.
        vouching: decides which keys are trusted. A segment that is signed with an untrusted key
            proves nothing.
    """
    rejected: dict[str, str] = {}
    for gateway in _contested_gateways(found):
        own = {text: folder for text, folder in found.items() if text.startswith(f"{gateway}.")}
        by_number = {
            number: list(members)
            for number, members in groupby(in_order(own), lambda each: each[0].segment)
        }
        rejected.update(_outside_the_chain(by_number, vouching))
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
    by_number: dict[int, list[Found]], vouching: SignatureTrust
) -> Iterator[tuple[str, str]]:
    """Yield the file name of each segment outside the chain, with the reason for its rejection.

    The chain of hashes is followed backwards from a trusted segment.
    """
    stretch = _known_end(by_number, vouching)
    while stretch is not None and stretch.previous_sha256 is not None:
        assert stretch.segment is not None
        rivals = by_number.get(stretch.segment - 1, [])
        real = next((each for each in rivals if each[0].sha256 == stretch.previous_sha256), None)
        if real is None:
            return
        for _, path in rivals:
            if path != real[1]:
                named = f"segment {stretch.segment} names as the one before it"
                yield path.name, f"another segment {real[0].segment} is the one that {named}"
        stretch = _read(*real)


def _known_end(by_number: dict[int, list[Found]], vouching: SignatureTrust) -> Stretch | None:
    """Return the segment from which the chain is followed backwards.

    This is the first signed segment. If no segment is signed, the newest segment is returned, or
    None if several segments have the highest number.
    """
    for number in sorted(by_number):
        stretch = _signed_of(by_number[number], vouching)
        if stretch is not None:
            return stretch
    newest = by_number[max(by_number)]
    return _read(*newest[0]) if len(newest) == 1 else None


def _signed_of(members: list[Found], vouching: SignatureTrust) -> Stretch | None:
    """Return the only segment with a trusted signature, or None if there are none or several.

    `members` are all segments that have the same number.
    """
    signed = [
        stretch
        for stretch in (_read(*each) for each in members)
        if stretch is not None
        and stretch.public_key is not None
        and vouching.may_vouch(stretch.gateway, stretch.public_key)
    ]
    return signed[0] if len(signed) == 1 else None


def _read(name: SegmentName, path: Path) -> Stretch | None:
    try:
        return stretch_of(name, path)
    except DamagedSegment:
        return None
