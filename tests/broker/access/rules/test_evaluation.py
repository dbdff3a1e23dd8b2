"""Decisions of the rules in a file, compared with a plain reading line by line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.broker.access.rules import evaluation as rules_module
from gateway.broker.access.rules.evaluation import FileRules
from gateway.broker.access.rules.file import parse
from gateway.broker.core.permissions import Client
from gateway.broker.wire.topics import matches


def rules_of(text: str) -> FileRules:
    return FileRules(parse(text.encode(), "f"))


def client(user: str | None = "anna", client_id: str = "c1", listener: str = "l:1") -> Client:
    return Client(client_id, user, listener)


def test_the_first_line_that_matches_decides_and_no_line_denies() -> None:
    rules = rules_of(
        "deny user anna publish a/secret\n"
        "allow user anna publish,subscribe a/#\n"
        "deny anyone subscribe a/#\n"
    )
    anna, ben = client(), client("ben")
    assert rules.may_publish(anna, "a/b", 0, False)
    assert not rules.may_publish(anna, "a/secret", 0, False)
    assert not rules.may_publish(anna, "b", 0, False)
    assert rules.may_subscribe(anna, "a/+", 1)
    assert rules.may_receive(anna, "a/secret")
    assert not rules.may_subscribe(ben, "a/b", 0)
    assert not rules.may_receive(ben, "a/b")
    decision = rules.decide(anna, "publish", "a/secret")
    assert decision.rule is not None
    assert (decision.allowed, decision.rule.line) == (False, 1)
    assert rules.decide(ben, "publish", "b").rule is None


def test_what_a_wider_filter_brings_is_asked_for_each_message() -> None:
    rules = rules_of("deny user anna receive a/secret\nallow user anna subscribe a/#\n")
    assert rules.may_subscribe(client(), "a/#", 0)
    assert rules.may_receive(client(), "a/b")
    assert not rules.may_receive(client(), "a/secret")


def test_qos_and_retain_are_conditions() -> None:
    rules = rules_of(
        "allow user anna qos 0,1 retain no publish a\nallow user anna qos 0 subscribe b\n"
    )
    allowed = {
        (qos, retain)
        for qos in range(3)
        for retain in (False, True)
        if rules.may_publish(client(), "a", qos, retain)
    }
    assert allowed == {(0, False), (1, False)}
    assert [rules.may_subscribe(client(), "b", qos) for qos in range(3)] == [True, False, False]
    assert rules.may_receive(client(), "b")


def test_who_may_do_something_may_connect() -> None:
    rules = rules_of(
        "deny client bad-* connect\nallow user anna publish a\nallow anonymous connect\n"
    )
    assert rules.may_connect(client())
    assert not rules.may_connect(client(client_id="bad-1"))
    assert rules.may_connect(client(None))
    assert not rules.may_connect(client("ben"))
    decision = rules.decide(client(), "connect")
    assert decision.rule is not None
    assert decision.rule.line == 2


def test_a_line_about_connect_decides_before_lines_that_allow_something() -> None:
    rules = rules_of("allow user anna publish a\ndeny user anna connect\n")
    assert not rules.may_connect(client())


def test_deny_all_without_topics_is_about_connect_too() -> None:
    rules = rules_of("deny user anna all\nallow anyone all\n")
    assert not rules.may_connect(client())
    assert rules.may_connect(client("ben"))
    assert rules.may_subscribe(client("ben"), "$SYS/#", 0)
    assert not rules.may_publish(client(), "a", 0, False)


def test_placeholders_are_made_for_each_client() -> None:
    rules = rules_of("allow user * publish,subscribe users/%u/# c/%c 100%%/%u\n")
    assert rules.may_publish(client(), "users/anna/x", 0, False)
    assert rules.may_subscribe(client(), "users/anna/#", 0)
    assert not rules.may_subscribe(client(), "users/+/x", 0)
    assert not rules.may_publish(client(), "users/ben/x", 0, False)
    assert rules.may_publish(client(), "c/c1", 0, False)
    assert rules.may_publish(client(), "100%/anna", 0, False)
    assert not rules.may_publish(client("+"), "users/ben/x", 0, False)
    assert not rules.may_publish(client(client_id="#"), "c/c1", 0, False)
    assert rules_of("allow anyone publish 100%%\n").may_publish(client(), "100%", 0, False)


def test_a_wildcard_does_not_reach_sys_and_its_own_pattern_does() -> None:
    rules = rules_of("allow user anna subscribe #\n")
    assert not rules.may_subscribe(client(), "$SYS/#", 0)
    assert not rules.may_receive(client(), "$SYS/broker/uptime")
    assert rules_of("allow user anna subscribe $SYS/#\n").may_subscribe(client(), "$SYS/+/x", 0)


def test_trees_that_clients_share_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules_module, "SHARED_PATTERNS_MAX", 4)
    rules = rules_of("".join(f"allow user u{each} publish a b c\n" for each in range(50)))
    for each in range(50):
        assert rules.may_publish(client(f"u{each}"), "c", 0, False)
        assert rules._shared_size <= 4


WHO = st.sampled_from(["user anna", "user *", "anonymous", "anyone", "group g", "client c1"])
PATTERNS = st.sampled_from(["a", "a/#", "+/b", "#", "a/%u", "%c/b", "$x/#"])
LINES = st.lists(
    st.tuples(
        st.sampled_from(["allow", "deny"]),
        WHO,
        st.sampled_from(["publish", "subscribe", "receive", "all"]),
        PATTERNS,
    ),
    max_size=8,
)


@given(
    LINES,
    st.sampled_from([None, "anna", "ben", "+"]),
    st.sampled_from(["c1", "c2"]),
    st.sampled_from(["a", "a/b", "a/anna", "c1/b", "$x/b", "b"]),
)
def test_answers_are_those_of_the_file_read_line_by_line(
    lines: list[tuple[str, str, str, str]], user: str | None, client_id: str, topic: str
) -> None:
    text = "group g = anna\n" + "".join(" ".join(line) + "\n" for line in lines)
    rules = rules_of(text)
    about = {
        "user anna": user == "anna",
        "user *": user is not None,
        "anonymous": user is None,
        "anyone": True,
        "group g": user == "anna",
        "client c1": client_id == "c1",
    }
    for question, actions in (
        ("publish", {"publish", "all"}),
        ("receive", {"subscribe", "receive", "all"}),
    ):
        expected = False
        for verb, who, action, pattern in lines:
            name = client_id if "%c" in pattern else user
            if "%" in pattern and (name is None or name == "+"):
                continue
            made = pattern.replace("%u", user or "").replace("%c", client_id)
            if about[who] and action in actions and matches(made, topic):
                expected = verb == "allow"
                break
        assert rules.decide(client(user, client_id), question, topic).allowed == expected


def test_a_shared_subscription_is_allowed_by_its_filter_in_the_user_s_own_group() -> None:
    rules = rules_of("allow user * subscribe a/#\n")
    assert rules.may_subscribe(client(), "$share/g/a/b", 1)
    assert not rules.shares_group(client(), "$share/g/a/b", 1)
    assert not rules.may_subscribe(client(), "$share/g/b", 1)


def test_a_line_that_names_share_makes_a_group_common_and_allows_nothing_else() -> None:
    rules = rules_of("allow user * subscribe $share/g/a/# $share/%u/b\n")
    assert rules.may_subscribe(client(), "$share/g/a/+", 1)
    assert rules.shares_group(client(), "$share/g/a/+", 1)
    assert rules.may_receive(client(), "a/x"), "it brings the messages"
    assert rules.shares_group(client(), "$share/anna/b", 0)
    for topic_filter in ("a/#", "$share/h/a/#", "$share/g/#", "$share/ben/b", "$share//a/b"):
        assert not rules.may_subscribe(client(), topic_filter, 1), topic_filter
        assert not rules.shares_group(client(), topic_filter, 1), topic_filter


def test_of_a_line_about_the_filter_and_one_about_the_group_the_first_decides() -> None:
    allow, share = "allow user * subscribe a/#\n", "allow user * subscribe $share/g/a/#\n"
    deny, deny_shared = "deny user * subscribe a/#\n", "deny user * subscribe $share/+/a/#\n"
    asked = (client(), "$share/g/a/b", 1)
    for text, may_subscribe, is_common in (
        (allow + share, True, False),
        (share + allow, True, True),
        ("allow user * subscribe a/# $share/g/a/#\n", True, True),
        (deny + share, False, False),
        (share + deny, True, True),
        (deny_shared + share, False, False),
        (deny_shared + allow, False, False),
        ("allow user * all\n", True, True),
    ):
        rules = rules_of(text)
        assert rules.may_subscribe(*asked) == may_subscribe, text
        assert rules.shares_group(*asked) == is_common, text
    assert rules_of(deny_shared + allow).may_receive(client(), "a/b"), "by another subscription"
    assert rules_of(deny_shared + allow).may_subscribe(client(), "a/b", 1)


def test_no_wildcard_and_no_name_of_a_shared_pattern_opens_what_is_below_sys() -> None:
    rules = rules_of("allow user * subscribe $share/+/# $share/g/%u/x\n")
    for user in ("anna", "$SYS"):
        for topic_filter in ("$share/g/$SYS/#", "$share/g/$SYS/x"):
            assert not rules.may_subscribe(client(user), topic_filter, 0)
        assert not rules.may_receive(client(user), "$SYS/x")
    named = rules_of("allow user * subscribe $share/g/$SYS/#\n")
    assert named.shares_group(client(), "$share/g/$SYS/broker/#", 0)


def test_the_decision_about_a_shared_subscription_has_its_line_and_whose_its_group_is() -> None:
    rules = rules_of("allow user anna subscribe a/#\nallow user * subscribe $share/g/a/#\n")
    own, common = (
        rules.decide(client(user), "subscribe", "$share/g/a/b") for user in ("anna", "b")
    )
    assert own.rule is not None
    assert common.rule is not None
    assert (own.rule.line, own.group, common.rule.line, common.group) == (1, "own", 2, "common")
