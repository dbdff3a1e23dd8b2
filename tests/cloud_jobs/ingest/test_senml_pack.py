"""A payload is SenML as RFC 8428 defines it, or refused."""

from __future__ import annotations

import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cloud_jobs.ingest.senml_pack import RefusedPackError, records_in
from tests.cloud_jobs import landings


@pytest.mark.parametrize("payload", landings.NO_SENML)
def test_a_payload_that_is_no_senml_json_is_refused_by_the_rule_it_breaks(payload: str) -> None:
    with pytest.raises(RefusedPackError, match=r"^(a|the|`v`|`boot`) "):
        records_in(payload, "elsewhere", 0.0)


@pytest.mark.parametrize(
    ("payload", "rule"),
    [
        ('[{"n":"x","v":' + "9" * 400 + "}]", "a number is out of range"),
        ('[{"bn":"x"},{"v":true}]', "`v` of a record is no number"),
        ('[{"n":"x","v":1,"boot":9223372036854775808}]', "`boot` of a record is no integer"),
        ('[{"n":"x","v":1,"boot":1.0}]', "`boot` of a record is no integer"),
        ('[{"n":"\\ud800","v":1}]', "the payload is not JSON"),
        ('[{"n":"x","v":1,"y":{"a":1,"a":2}}]', "the payload is not JSON"),
        ('[{"n":"x","v":1e308},{"n":"y","bv":1e308,"v":1e308}]', "a number is out of range"),
    ],
)
def test_a_rule_that_is_broken_is_named(payload: str, rule: str) -> None:
    with pytest.raises(RefusedPackError) as refusal:
        records_in(payload, None, 0.0)
    assert str(refusal.value) == rule


def test_a_base_field_holds_for_its_record_and_all_after_it() -> None:
    payload = '[{"n":"a","v":1},{"bn":"b/","bv":2,"bu":"V"},{"n":"c","v":3,"u":"A"},{"n":"d"}]'
    found = [(one.name, one.value, one.unit) for one in records_in(payload, None, 0.0)]
    assert found == [("a", 1.0, None), ("b/", 2.0, "V"), ("b/c", 5.0, "A"), ("b/d", 2.0, "V")]


_FIELDS = st.sampled_from(["n", "v", "bn", "t", "device"])
_JSON = st.recursive(
    st.none() | st.floats() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_FIELDS, inner, max_size=3),
)


@given(st.text(max_size=30) | _JSON.map(json.dumps))
def test_no_payload_makes_the_reader_raise_anything_else(payload: str) -> None:
    with contextlib.suppress(RefusedPackError):
        records_in(payload, "sensors/a/b", 0.0)


@pytest.mark.parametrize(
    ("base", "topic"), [("x" * 500_000, "t"), ("x", "t" * 65_535), ("x" * 400, "t" * 400)]
)
def test_a_pack_whose_records_would_be_gigabytes_is_refused(base: str, topic: str) -> None:
    records = [{"bn": base, "v": 1}, *({"v": 1} for _ in range(30_000))]
    with pytest.raises(RefusedPackError, match=r"more than 8000000 characters"):
        records_in(json.dumps(records), topic, 0.0)
