"""A check that segments form a chain, for tests that have written some."""

from collections.abc import Iterable
from itertools import pairwise

from gateway.uploader.segments.verify import Segment


def check_chain(segments: Iterable[Segment]) -> None:
    """Assert that each segment names the one before it."""
    for before, segment in pairwise(segments):
        found = (segment.header["segment"], segment.header["previous_sha256"])
        assert found == (before.name.segment + 1, before.name.sha256), segment.name
