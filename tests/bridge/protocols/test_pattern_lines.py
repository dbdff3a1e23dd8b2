"""Lines that are read with a regular expression."""

import pytest
from firmware_bridge.protocols.interface import Decoder
from firmware_bridge.protocols.pattern_lines import (
    MATCHED_CHARACTERS_MAX,
    PatternLines,
    has_nested_repeats,
)
from hypothesis import given
from hypothesis import strategies as st
from pydantic_core import PydanticCustomError

from tests.bridge.protocols.feeding import check_any_pieces

SETTINGS = PatternLines(pattern=r"T=(?P<temperature>\S+) C(?:, RH=(?P<humidity>\d+)%)?")


def make() -> Decoder:
    return SETTINGS.decoder()


def test_named_groups_are_quantities_and_one_without_a_part_is_not_measured() -> None:
    SETTINGS.check()
    found = make().feed(b"T=21.5 C, RH=40%\nT=22 C\nT=-- C, RH=41%\n")
    values = [{name: each[0].value for name, each in frame.quantities.items()} for frame in found]
    assert values == [{"temperature": 21.5, "humidity": 40}, {"temperature": 22}, {"humidity": 41}]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"T=21.5 F\n", "pattern"),
        (b"T=" + b"1" * MATCHED_CHARACTERS_MAX + b" C\n", "overlong"),
        (b"T=1e999 C\n", "value"),
        (b"\xff\n", "utf8"),
        (b"T=0 C\nT=ERR C\n", "type"),
    ],
)
def test_a_line_that_does_not_match_is_damage(line: bytes, reason: str) -> None:
    decoder = make()
    assert decoder.feed(line + b"T=1 C\n")[-1].quantities["temperature"][0].value == 1
    assert decoder.tally.damaged == {reason: 1}


@pytest.mark.parametrize(
    ("pattern", "fix"),
    [
        ("(?P<a>", "a valid Python regular expression"),
        ("[0-9]+", "named groups"),
        ("(?P<_a>.)", "a name of 1 to 64"),
        (r"(?P<a>(\d+)+)", "no repetition within a repetition"),
        (r"(?P<a>.)(?P=a)", "no back-reference"),
    ],
)
def test_a_pattern_that_could_not_be_used_is_refused(pattern: str, fix: str) -> None:
    with pytest.raises(PydanticCustomError) as refusal:
        PatternLines(pattern=pattern).check()
    assert fix.rsplit(maxsplit=1)[-1] in str(refusal.value)


def test_a_line_that_does_not_fit_the_declared_types_is_damage() -> None:
    settings = PatternLines(pattern=r"(?P<a>\S+),(?P<b>\S+)", types={"a": "number"})
    settings.check()
    decoder = settings.decoder()
    assert len(decoder.feed(b"rst:0x1,boot:0x13\n1,boot\n")) == 1
    assert decoder.tally.damaged == {"type": 1}


@pytest.mark.parametrize(
    ("pattern", "nested"),
    [("(a+)+", True), ("(a+|b)*", True), ("(a{1,3}){2,9}", True), ("(a+b?)?c*", False)],
)
def test_repetitions_within_repetitions_are_found(pattern: str, nested: bool) -> None:
    assert has_nested_repeats(pattern) == nested


@given(st.lists(st.sampled_from([b"T=1 C\n", b"T=", b"\r", b"\xff", b"T=2 C, RH=4%\r\n"])))
def test_any_mixture_gives_the_same_in_any_pieces(parts: list[bytes]) -> None:
    check_any_pieces(make, b"".join(parts))
