"""SASLprep: the examples of RFC 4013 section 3, and cases that the RFC does not show."""

import pytest

from gateway.broker.access.passwords.saslprep import Unprepared, prepared_of


@pytest.mark.parametrize(
    ("text", "prepared"),
    [
        ("I\u00adX", "IX"),
        ("user", "user"),
        ("USER", "USER"),
        ("\u00aa", "a"),
        ("\u2168", "IX"),
        ("a\u00a0b\u3000c", "a b c"),
        ("e\u0301", "\u00e9"),
        ("\u0627\u0031\u0628", "\u0627\u0031\u0628"),
        ("", ""),
    ],
)
def test_texts_that_mean_the_same_have_one_form(text: str, prepared: str) -> None:
    assert prepared_of(text, stored=True) == prepared
    assert prepared_of(prepared, stored=True) == prepared


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("\u0007", "U\\+0007 is prohibited"),
        ("\0", "U\\+0000 is prohibited"),
        ("\ud800", "U\\+D800 is prohibited"),
        ("\ufffd", "U\\+FFFD is prohibited"),
        ("\ue000", "U\\+E000 is prohibited"),
        ("\u0627\u0031", "from right to left"),
        ("\u0627a\u0628", "from right to left"),
    ],
)
def test_what_a_name_must_not_hold_is_refused(text: str, reason: str) -> None:
    with pytest.raises(Unprepared, match=reason):
        prepared_of(text, stored=False)


def test_what_unicode_3_2_does_not_know_may_be_asked_for_and_not_be_kept() -> None:
    emoji = "\U0001f600"
    assert prepared_of(emoji, stored=False) == emoji
    with pytest.raises(Unprepared, match=r"not in Unicode 3\.2"):
        prepared_of(emoji, stored=True)
