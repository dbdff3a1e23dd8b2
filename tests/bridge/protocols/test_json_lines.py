"""Lines that are JSON objects."""

from collections import Counter
from typing import Any

import pytest
from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.protocols.json_lines import DEPTH_MAX, JsonLines, MemberReader
from firmware_bridge.readings.kinds import Kinds


def values(*lines: str, skipped: Counter[str] | None = None) -> dict[str, Any]:
    """Decode lines and return the values of the last line."""
    reader = MemberReader(Kinds())
    *_, found = (reader.read(line, Counter() if skipped is None else skipped) for line in lines)
    return {name: each.value for name, each in found.items()}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            '{"temperature":21.5,"count":3,"door":"open","fault":false,"gone":null}',
            {"temperature": 21.5, "count": 3, "door": "open", "fault": False},
        ),
        ("{}", {}),
        ('{"a":"\\ud83d\\ude00"}', {"a": "\U0001f600"}),
        ('{"a":{"b":{"c":1},"d":2}}', {"a.b.c": 1, "a.d": 2}),
        ('{"Temp\u00e9rature (\u00b0C)":1,"a/b":2}', {"Temperature_C": 1, "a_b": 2}),
        ('{"a":NaN,"b":-Infinity,"c":"nan","d":"","e":null}', {}),
        ('{"a":nan,"b":-nan,"c":inf,"d":ovf,"e":--,"f":,"g":1,"h":}', {"g": 1}),
        (
            '{"a":+21.50,"b":.5,"c":5.,"d":007,"e":{"f":-.5}}',
            {"a": 21.5, "b": 0.5, "c": 5.0, "d": 7, "e.f": -0.5},
        ),
        (
            "{'a': 21.5, 'b': 'x', 'c': True, 'd': None, 'e': 'it'}",
            {"a": 21.5, "b": "x", "c": True, "e": "it"},
        ),
        ('{"a":1,"b":{"c":2,},}', {"a": 1, "b.c": 2}),
        ('{"a":0x1F}', {"a": 31}),
        ('12:00:00.123 MQT: tele/plug/SENSOR = {"a":{"b":1},"c":"{x}"}', {"a.b": 1, "c": "{x}"}),
        ('[12:00:00]{"a":1}', {"a": 1}),
        ('{"a":1},', {"a": 1}),
        ('{"a":"x:nan,\\"y","b":nan}', {"a": 'x:nan,"y'}),
        ('{"a":"0012"}', {"a": "0012"}),
        ("{" + ",".join(f'"a{n}":{n}' for n in range(200)) + "}", {f"a{n}": n for n in range(200)}),
    ],
)
def test_a_line_becomes_its_measurements(line: str, expected: dict[str, Any]) -> None:
    assert values(line) == expected


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"a":1', "syntax"),
        ('{"a":1,5}', "syntax"),
        ('{"a":1.2.3}', "syntax"),
        ('{"a":on}', "syntax"),
        ('{"a":"b}', "syntax"),
        ("{a:1}", "syntax"),
        ('"a":{"b":1}', "syntax"),
        ('":2},"a":{"b":1}}', "syntax"),
        ('1,{"b":1}]}', "syntax"),
        ('MQT: {"a":1} more', "syntax"),
        ("MQT: stat/plug = {", "syntax"),
        ('"' * 4095, "syntax"),
        ("[1]", "syntax"),
        ('"a"', "syntax"),
        ("[" * 4000, "syntax"),
        ('{"a":[1]}', "member"),
        ('{"a":' * (DEPTH_MAX + 1) + "1" + "}" * (DEPTH_MAX + 1), "member"),
        ('{"a":' + "9" * 40 + "}", "value"),
        ('{"a":' + "9" * 4090 + "}", "value"),
        ('{"a":"\\ud83d"}', "text"),
        ('{"a":"\\udc00\\ud800"}', "text"),
        ('{"\\ud800":1}', "name"),
        ('{"":1}', "name"),
        ('{"' + "a" * 65 + '":1}', "name"),
    ],
)
def test_a_line_against_the_form_is_damage_with_its_reason(line: str, reason: str) -> None:
    with pytest.raises(Damaged) as damage:
        values(line)
    assert damage.value.reason == reason


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"ok":1,"ok":2}', "name"),
        ('{"a.b":1,"a":{"b":2}}', "name"),
        ('{"ok":1,"":2}', "name"),
        ('{"ok":1,"a":[1,2]}', "member"),
        ('{"ok":1,"a":1e999}', "value"),
        ('{"ok":1,"a":"\\ud83d"}', "text"),
        ('{"ok":1,"a":null}', "not_measured"),
    ],
)
def test_a_member_that_cannot_be_read_costs_itself(line: str, reason: str) -> None:
    skipped: Counter[str] = Counter()
    assert list(values(line, skipped=skipped).values()) == [1]
    assert skipped == {reason: 1}


def test_bytes_that_are_no_utf_8_cost_their_member() -> None:
    decoder = JsonLines().decoder()
    (frame,) = decoder.feed(b'{"a":1,"b":"\xb0C","t\xffmp":2}\n')
    assert list(frame.quantities) == ["a"]
    assert decoder.tally.skipped == {"text": 1, "name": 1}


def test_a_member_keeps_the_type_of_its_first_value() -> None:
    skipped: Counter[str] = Counter()
    assert values('{"a":1,"b":1}', '{"a":"ERR","b":2}', skipped=skipped) == {"b": 2}
    assert skipped == {"type": 1}
    assert values('{"a":1}', '{"a":"21,5"}') == {"a": 21.5}
    assert values('{"a":1}', '{"a":true}') == {"a": 1}
    assert values('{"a":"x"}', '{"a":21.5}') == {"a": "21.5"}
    assert values('{"a":true}', '{"a":0}') == {"a": False}


def test_a_declared_type_holds_from_the_first_line() -> None:
    decoder = JsonLines(types={"a": "number"}).decoder()
    (frame,) = decoder.feed(b'{"a":"21.5"}\n')
    assert frame.quantities["a"][0].value == 21.5
