"""The wording of numbers and of hostile names."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api import limits, wording
from api.models.broker import Certificate, Listener


def plain(text: str) -> str:
    return text.replace("\N{NO-BREAK SPACE}", " ")


@given(st.text(max_size=2000))
def test_what_is_shown_of_any_name_hides_nothing_and_stays_short(name: str) -> None:
    shown = wording.visible_of(name)
    assert all(
        unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl") for character in shown
    )
    assert len(shown) <= limits.SHOWN_CHARACTERS_MAX * len(r"\u{10ffff}") + 30


@given(st.text(alphabet=st.characters(categories=["L", "N", "P"]), max_size=90))
def test_an_honest_name_is_shown_as_it_is(name: str) -> None:
    assert wording.visible_of(name) == name


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("photo\u202egnp.exe", r"photo\u{202e}gnp.exe"),
        ("a\n\n\nb", "a\\u{a}\N{MULTIPLICATION SIGN}3b"),
        ("e\u0301", "e\u0301"),
        ("z" + "\u0301" * 50, "z\u0301\u0301\\u{301}\N{MULTIPLICATION SIGN}48"),
        ("zero\u200bwidth", r"zero\u{200b}width"),
        ("a" * 100, "a" * 96 + "… and 4 more characters"),
    ],
)
def test_hidden_characters_are_written_out(name: str, shown: str) -> None:
    assert wording.visible_of(name) == shown


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "0.0 s"),
        (0.44, "0.4 s"),
        (12.9, "12 s"),
        (119.9, "119 s"),
        (180, "3 min"),
        (7_500, "2 h 5 min"),
        (90_000, "1 d 1 h"),
        (86_400 * 400, "400 days"),
    ],
)
def test_a_duration_is_as_exact_as_it_is_useful(seconds: float, words: str) -> None:
    assert plain(wording.duration_of(seconds)) == words


def test_a_time_ahead_of_the_brokers_clock_is_said_to_be_ahead() -> None:
    assert plain(wording.age_of(60_000, now_ms=0)) == "60 s ahead"
    assert plain(wording.age_of(500, now_ms=0)) == "0.0 s"
    assert plain(wording.age_of(0, now_ms=180_000)) == "3 min"


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (0, "0 B"),
        (1_023, "1023 B"),
        (40_960, "40.0 KiB"),
        (1_610_612_736, "1.5 GiB"),
        (2**63 - 1, "8,388,608.0 TiB"),
    ],
)
def test_sizes_are_written_in_binary_units(number: int, words: str) -> None:
    assert plain(wording.bytes_of(number)) == words


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (21.299999237060547, "21.3"),
        (48.1173, "48.1173"),
        (123456.789, "123456.789"),
        (26107.7034231, "26107.7034231"),
        (1234567.25, "1234567.25"),
        (-0.00001, "-0.00001"),
        (230.0, "230"),
        (0.30000001192092896, "0.3"),
        (101_325, "101,325"),
        (1.5e-9, "0.0000000015"),
        (6.02214076e23, "6.02214076e+23"),
        (1.5e-12, "1.5e-12"),
        (16_777_216_000.0, "16777216000"),
        (1.0000000150474662e30, "1e+30"),
        (True, "true"),
        (False, "false"),
        (None, "no value"),
        ("3D", "3D"),
        ("a\x1bb", r"a\u{1b}b"),
    ],
)
def test_a_reading_is_written_with_the_digits_that_came(
    value: int | float | bool | str | None, words: str
) -> None:
    assert wording.value_of(value) == words


def test_units_of_senml_are_written_as_people_do() -> None:
    assert wording.unit_of("Cel") == "°C"
    assert wording.unit_of("W/m2") == "W/m²"
    assert wording.unit_of("furlong\u202e") == r"furlong\u{202e}"
    assert wording.unit_of(None) == ""


def test_prose_of_ours_is_escaped_and_its_words_are_code() -> None:
    assert wording.marked_of("Run `a <b>` & <i>") == "Run <code>a &lt;b&gt;</code> &amp; &lt;i&gt;"


@pytest.mark.parametrize(
    ("listener", "words"),
    [
        (Listener(protocol="mqtt", bind="127.0.0.1", port=1883), "127.0.0.1:1883"),
        (Listener(protocol="mqtt", bind="::1", port=1883), "[::1]:1883"),
        (Listener(protocol="websocket", bind="::", port=8083), "[::]:8083 (websocket)"),
        (Listener(protocol="unix", path="/run/mqtt.sock"), "/run/mqtt.sock (unix)"),
        (
            Listener(
                protocol="mqtts",
                bind="::1",
                port=8883,
                certificate=Certificate(subject="gateway", not_after_ms=1, days_left=59),
            ),
            "[::1]:8883 (mqtts, certificate for 59 days)",
        ),
        (
            Listener(
                protocol="wss",
                bind="::1",
                port=8084,
                path="/mqtt",
                certificate=Certificate(subject="gateway", not_after_ms=1, days_left=-1),
            ),
            "[::1]:8084/mqtt (wss, certificate expired)",
        ),
    ],
)
def test_a_listener_is_written_as_its_address(listener: Listener, words: str) -> None:
    assert wording.address_of(listener) == words


@pytest.mark.parametrize(
    ("digits", "spaced", "text"),
    [
        ("", "", ""),
        ("244750", "24 47 50", "$GP"),
        ("24475047470d0a", "24 47 50 47 47 0d 0a", ""),
        ("2447504747475047470d0a", "24 47 50 47 47 47 50 47 47 0d 0a", "$GPGGGPGG··"),
        ("ff00", "ff 00", ""),
        ("xy", "xy", ""),
    ],
)
def test_bytes_are_written_apart_and_as_text_where_most_are_printable(
    digits: str, spaced: str, text: str
) -> None:
    assert (wording.bytewise_of(digits), wording.printable_of(digits)) == (spaced, text)
