"""The words of a line, and the operations that its actions decide about."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.broker.access.rules.line import (
    Mistake,
    actions_of,
    kinds_of,
    nearest,
    shown,
    text_of,
    words_of,
)
from gateway.broker.access.rules.rule import CONNECT, RECEIVE, publish_kind, subscribe_kind

PUBLISH = sum(publish_kind(qos, retain) for qos in range(3) for retain in (False, True))
SUBSCRIBE = sum(subscribe_kind(qos) for qos in range(3))


def test_words_are_separated_by_spaces_and_held_together_by_quotes() -> None:
    assert words_of('allow\tuser  "a b" "\\"q\\" \\\\" x#') == [
        "allow",
        "user",
        "a b",
        '"q" \\',
        "x#",
    ]


@pytest.mark.parametrize("text", ['"open', 'a"b', '"a"b', '"\\n"'])
def test_a_quote_without_a_partner_is_a_mistake(text: str) -> None:
    with pytest.raises(Mistake):
        words_of(text)


@given(st.lists(st.text(st.characters(blacklist_characters="\0\n\r", codec="utf-8")), max_size=5))
def test_every_word_can_be_quoted(words: list[str]) -> None:
    escaped = (word.replace("\\", "\\\\").replace('"', '\\"') for word in words)
    assert words_of(" ".join(f'"{word}"' for word in escaped)) == words


def test_a_line_is_text_of_one_line() -> None:
    assert text_of(b"  a \r") == "a \r".strip()
    for raw in (b"\xff", b"a\0"):
        with pytest.raises(Mistake):
            text_of(raw)


def test_actions_decide_their_questions() -> None:
    assert kinds_of(True, ["publish"], ["t"], {}) == PUBLISH
    assert kinds_of(True, ["subscribe"], ["t"], {}) == SUBSCRIBE | RECEIVE
    assert kinds_of(False, ["receive"], ["t"], {}) == RECEIVE
    assert kinds_of(True, ["connect"], [], {}) == CONNECT
    assert kinds_of(True, ["all"], ["t"], {}) == PUBLISH | SUBSCRIBE | RECEIVE
    assert kinds_of(True, ["all"], [], {}) == PUBLISH | SUBSCRIBE | RECEIVE | CONNECT


def test_qos_and_retain_narrow_what_is_decided() -> None:
    conditions = {"qos": "0,2", "retain": "no"}
    expected = publish_kind(0, False) | publish_kind(2, False)
    assert kinds_of(True, ["publish"], ["t"], conditions) == expected
    assert kinds_of(True, ["subscribe"], ["t"], {"qos": "1"}) == subscribe_kind(1) | RECEIVE
    denied = kinds_of(False, ["subscribe"], ["t"], {"qos": "1"})
    assert denied == subscribe_kind(1), "a QoS that is denied does not deny the messages"


@pytest.mark.parametrize(
    ("actions", "patterns", "conditions"),
    [
        (["connect"], ["t"], {}),
        (["publish"], [], {}),
        (["connect", "publish"], ["t"], {}),
        (["receive"], ["t"], {"qos": "1"}),
        (["subscribe"], ["t"], {"retain": "no"}),
        (["publish"], ["t"], {"qos": "3"}),
        (["publish"], ["t"], {"retain": "maybe"}),
    ],
)
def test_what_does_not_fit_together_is_a_mistake(
    actions: list[str], patterns: list[str], conditions: dict[str, str]
) -> None:
    with pytest.raises(Mistake):
        kinds_of(True, actions, patterns, conditions)


def test_an_action_that_is_not_known_is_a_mistake_with_the_nearest() -> None:
    with pytest.raises(Mistake, match=r"did you mean \"publish\""):
        actions_of(["allow", "publsh"], 1)
    with pytest.raises(Mistake, match="names no action"):
        actions_of(["allow"], 1)


def test_long_words_are_cut_and_compared_with_nothing() -> None:
    assert len(shown("x" * 1_000)) < 70
    assert nearest("x" * 1_000, ["x" * 999], "no") == "no"
