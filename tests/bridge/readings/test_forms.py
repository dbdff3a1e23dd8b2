"""Topics and payloads from patterns and templates."""

import json

import pytest
from firmware_bridge.readings.forms import json_of, plain_of, topic_of
from firmware_bridge.readings.measurement import Value


def test_a_topic_has_the_values_in_the_places_of_the_placeholders() -> None:
    assert topic_of("a/{site}/{device}", {"site": "north", "device": "d"}) == "a/north/d"


@pytest.mark.parametrize(
    ("value", "plain"),
    [(21.5, b"21.5"), (2, b"2"), (True, b"true"), ("a b", b"a b"), (b"\x00\xff", b"\x00\xff")],
)
def test_a_plain_value_is_written_as_people_write_it(value: Value, plain: bytes) -> None:
    assert plain_of(value) == plain


def test_a_placeholder_alone_keeps_its_type_and_one_in_a_text_is_a_part_of_it() -> None:
    template = {"v": "{value}", "u": "{unit}", "all": ["{value} {unit}", {"k": 7}]}
    values = {"value": 21.5, "unit": None}
    assert json.loads(json_of(template, values)) == {
        "v": 21.5, "u": None, "all": ["21.5 ", {"k": 7}],
    }  # fmt: skip


def test_bytes_and_quotes_are_json() -> None:
    found = json.loads(json_of({"a": "{value}", "b": "<{value}>"}, {"value": b"\xff\xfe"}))
    assert found == {"a": "__4", "b": "<__4>"}
    assert json.loads(json_of({"a": "{value}"}, {"value": 'a"}'})) == {"a": 'a"}'}
