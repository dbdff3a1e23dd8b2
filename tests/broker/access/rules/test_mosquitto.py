"""Mosquitto's ACL files, converted to our rules, allow exactly what Mosquitto allows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.broker.access.rules import mosquitto
from gateway.broker.access.rules.evaluation import FileRules
from gateway.broker.access.rules.file import RulesFileError, parse
from gateway.broker.access.rules.mosquitto import rules_text_of
from gateway.broker.core.permissions import Client

ACL = b"""\
# general
topic read $SYS/#
topic news/today

user roger
topic foo/bar baz
topic write 50%/x
topic readwrite secret/#
topic deny secret/deep/#

user "odd
topic read a
pattern readwrite users/%u/#
pattern write clients/%c
"""


@pytest.fixture
def rules() -> FileRules:
    return FileRules(parse(rules_text_of(ACL, "acl").encode(), "ours"))


def test_lines_are_about_whom_they_are_about_in_mosquitto(rules: FileRules) -> None:
    roger, nameless = Client("c", "roger", "l"), Client("c", None, "l")
    assert rules.may_subscribe(nameless, "$SYS/#", 0)
    assert rules.may_publish(nameless, "news/today", 0, False)
    assert not rules.may_publish(roger, "news/today", 0, False)
    assert rules.may_publish(roger, "foo/bar baz", 0, False)
    assert rules.may_publish(roger, "50%/x", 0, False)
    assert not rules.may_subscribe(roger, "50%/x", 0)
    assert rules.may_publish(roger, "users/roger/x", 0, False)
    assert not rules.may_publish(roger, "users/other/x", 0, False)
    assert rules.may_publish(roger, "clients/c", 0, False)
    assert rules.may_receive(Client("c", '"odd', "l"), "a")


def test_a_deny_comes_before_what_stands_above_it(rules: FileRules) -> None:
    roger = Client("c", "roger", "l")
    assert rules.may_publish(roger, "secret/a", 0, False)
    assert not rules.may_publish(roger, "secret/deep/a", 0, False)
    assert rules.may_subscribe(roger, "secret/#", 0), "messages below deep/ do not come through it"
    assert not rules.may_receive(roger, "secret/deep/a")


def test_every_client_may_connect_as_in_mosquitto(rules: FileRules) -> None:
    assert rules.may_connect(Client("c", "stranger", "l"))


def test_lines_that_are_none_are_reported_together(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(RulesFileError) as caught:
        rules_text_of(b"topics a\ntopic read a/#/b\nuser\n\xff\n", "acl")
    assert [problem.split(":")[1] for problem in caught.value.problems] == [
        " line 1",
        " line 2",
        " line 3",
        " line 4",
    ]
    monkeypatch.setattr(mosquitto, "FILE_BYTES_MAX", 3)
    with pytest.raises(RulesFileError, match="longer than 3 bytes"):
        rules_text_of(b"user x", "acl")


@given(
    st.lists(st.sampled_from(["user", "topic", "pattern", "read", "deny", "a b", '"', "%", "é"]))
)
def test_what_is_printed_can_be_read(words: list[str]) -> None:
    for separator in (" ", "\n"):
        content = separator.join(words).encode()
        try:
            text = rules_text_of(content, "acl")
        except RulesFileError:
            continue
        assert parse(text.encode(), "ours").text == text


def test_a_byte_order_mark_before_the_first_line_is_ignored() -> None:
    text = rules_text_of(b"\xef\xbb\xbfuser anna\ntopic read a\n", "acl")
    assert "allow user anna subscribe a" in text
    assert parse(b"\xef\xbb\xbf" + text.encode(), "ours").rules
