"""Hints for the usual mistakes in TOML."""

import tomllib

import pytest

from gateway.process.files.toml_mistakes import reason_of


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        ("[a]\nx = 1\nx = 2\n", "a key is set twice"),
        ("[[a]]\nx = 1\n[a]\n", "two brackets: [[serial]]"),
        (
            "name = \N{LEFT DOUBLE QUOTATION MARK}gps\N{RIGHT DOUBLE QUOTATION MARK}",
            "straight quotes",
        ),
        ("a = True", "lowercase"),
        ("a = 5s", "quotes around a whole text"),
        ('name = "gps', "a closing quote is missing"),
        ("serial:\n  - name: gps", "write key = value"),
        ('path = "C:\\dev"', "single quotes"),
        ("a = [1, 2\nb = 3", "a closing bracket"),
        ("a = {b = 1,\nc = 2}", "a table in braces is on one line"),
        ("größe = 1", "a key has only letters a to z"),
        ("öl = 1", "a key has only letters a to z"),
        ("scale = 0,1", "a point into a decimal number"),
    ],
)
def test_a_mistake_has_its_place_and_how_to_correct_it(text: str, hint: str) -> None:
    with pytest.raises(tomllib.TOMLDecodeError) as refusal:
        tomllib.loads(text)
    reason = reason_of(refusal.value)
    assert reason.startswith(str(refusal.value))
    assert hint in reason
