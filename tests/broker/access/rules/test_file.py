"""The parser of the file of access rules: valid lines, and mistakes with line number and fix."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.broker.access.rules import file as module
from gateway.broker.access.rules.file import RulesFileError, load, parse
from gateway.broker.access.rules.rule import ClientConditions, ClientPattern

WORDS = st.sampled_from(
    [
        *("allow", "deny", "group", "=", "user", "*", '"a b"', '"', "anonymous", "anyone"),
        *("client", "listener", "qos", "retain", "yes", "0,1", "publish", "subscribe,receive"),
        *("all", "connect", "#", "a/%u", "%x", "\\", "\0", "\xe9"),
    ]
)


def problems_of(text: str) -> list[str]:
    return problems_of_bytes(text.encode())


def problems_of_bytes(content: bytes) -> list[str]:
    with pytest.raises(RulesFileError) as caught:
        parse(content, "f")
    return list(caught.value.problems)


def test_a_file_is_read_line_by_line() -> None:
    file = parse(
        b"# a comment\n\n"
        b"allow group ops publish,subscribe cellar/#\r\n"
        b"group ops = anna ben\n"
        b"group ops = carl\n"
        b'deny user "d e" client s-* listener 127.0.0.1:* qos 1 retain yes publish a b\n'
        b"allow user * connect",
        "f",
    )
    first, second, third = file.rules
    assert (first.line, first.allow, first.patterns) == (3, True, ("cellar/#",))
    assert first.who == ClientConditions(members=frozenset({"anna", "ben", "carl"}), group="ops")
    assert second.text.startswith('deny user "d e" client')
    assert second.who == ClientConditions(
        user="d e", client=ClientPattern("s-*"), listener=ClientPattern("127.0.0.1:*")
    )
    assert third.who == ClientConditions(named=True)
    assert file.groups == {"ops": {"anna", "ben", "carl"}}


def test_all_mistakes_are_reported_together_in_order_with_line_and_fix() -> None:
    found = problems_of(
        "alow user a publish t\n"
        "allow publish t\n"
        "allow user a\n"
        "allow user a publish\n"
        "allow user a publish a/#/b\n"
        "allow group opps publish t\n"
        "allow user a user b publish t\n"
        "allow user a anyone publish t\n"
        "group x\n"
        "allow user\n"
        "group ops = a\n"
        'allow user "a publish t\n'
        "allow user a publish %t\n"
    )
    assert [problem.split(":")[1] for problem in found] == [
        f" line {number}" for number in (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13)
    ]
    assert found[0] == "f: line 1: begins with 'alow': did you mean \"allow\"?"
    assert 'did you mean "ops"?' in found[5]
    assert "use %u" in found[-1]


@pytest.mark.parametrize(
    "line",
    [
        "allow user a subscribe jobs/#  # all messages",
        "deny user * connect # no other id",
        "group ops = anna # the operators",
        "allow user a publish t # a/#/b",
    ],
)
def test_a_comment_after_a_rule_is_refused_because_its_sign_would_mean_all_topics(
    line: str,
) -> None:
    (found,) = problems_of(f"{line}\n")
    assert found == "f: line 1: has words after #: put a comment on a line of its own"


def test_the_sign_for_all_topics_is_allowed_at_the_end_and_before_topics_below_dollar() -> None:
    file = parse(b"allow user a subscribe jobs/# #\nallow user b subscribe # $SYS/#\n", "f")
    assert [each.patterns for each in file.rules] == [("jobs/#", "#"), ("#", "$SYS/#")]


def test_a_flood_of_mistakes_is_cut() -> None:
    found = problems_of("x\n" * 150)
    assert len(found) == module.PROBLEMS_MAX + 1
    assert found[-1] == "and 50 more mistakes"


def read(content: bytes) -> bool:
    """Return True unless the parser lists mistakes in the contents."""
    try:
        file = parse(content, "f")
    except RulesFileError as error:
        return not error.problems
    return all(rule.kinds for rule in file.rules)


@given(st.binary(max_size=200))
def test_whatever_the_bytes_are_the_parser_answers_or_reports(content: bytes) -> None:
    assert read(content) or problems_of_bytes(content)


@given(st.lists(st.lists(WORDS, max_size=8), max_size=6))
def test_whatever_the_words_are_the_parser_answers_or_reports(lines: list[list[str]]) -> None:
    content = "\n".join(" ".join(words) for words in lines).encode()
    assert read(content) or problems_of_bytes(content)


def test_bounds_are_reported_with_their_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RULES_MAX", 2)
    assert "more than 2 rules" in problems_of("allow user a connect\n" * 3)[0]
    monkeypatch.setattr(module, "PLACEHOLDER_RULES_MAX", 0)
    assert "more than 0 rules with %u" in problems_of("allow user a publish %u\n")[0]
    monkeypatch.setattr(module, "PATTERNS_MAX", 3)
    assert "more than 3 patterns" in problems_of("allow user a publish a b c d\n")[0]
    assert "more than 3 patterns" in problems_of("group g = a b c d\n")[0]
    monkeypatch.setattr(module, "FILE_BYTES_MAX", 5)
    assert problems_of("# 345678") == ["f: longer than 5 bytes"]


def test_a_file_that_is_missing_or_open_to_all_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rules"
    with pytest.raises(RulesFileError, match="cannot be read"):
        load(path)
    path.write_text("allow anyone all\n")
    assert load(path).name == str(path)
    path.chmod(0o666)
    with pytest.raises(RulesFileError, match="chmod o-w"):
        load(path)
