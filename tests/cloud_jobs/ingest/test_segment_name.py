"""The name of a segment, and names that are not valid."""

from __future__ import annotations

import hashlib

from cloud_jobs.ingest.segment_name import name_of
from tests.contract.segments import numbered, opened, sealed


def test_a_name_is_read_only_when_it_is_exactly_a_segments_name() -> None:
    segment = sealed(numbered([opened()], 5), first_sequence=5)
    name = segment.name
    read = name_of(name)
    assert read is not None
    assert str(read) == name
    assert read.sha256 == hashlib.sha256(segment.content).hexdigest()
    for other in (name + "\n", name.upper(), name[1:].replace("w", "_"), "x" + name[:-4], ""):
        assert name_of(other) is None


def test_the_segment_of_a_tenant_bears_its_name_behind_the_gateways() -> None:
    rest = f"0123456789abcdef.00000001.000000000001-000000000002.{'0' * 64}.jsonl.zst"
    name = name_of(f"gw-1_acme.{rest}")
    assert name is not None
    assert name.gateway == "gw-1_acme"
    for wrong in ("gw-1_", "_acme", "gw-1_a_b", "gw-1_Acme"):
        assert name_of(f"{wrong}.{rest}") is None
