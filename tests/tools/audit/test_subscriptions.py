import pytest

from gateway.tools.audit.session_state import SessionState
from gateway.tools.audit.subscriptions import Subscriptions, group_of


def session(number: int) -> SessionState:
    return SessionState(number, f"client-{number}", persistent=True, may_be_5=False, epoch=0)


def test_the_highest_qos_of_overlapping_filters_counts_and_each_shared_group_once() -> None:
    subscriptions, one, two = Subscriptions(), session(1), session(2)
    subscriptions.subscribe(one, "t/#", 0)
    subscriptions.subscribe(one, "t/+", 2)
    subscriptions.subscribe(one, "u/#", 1)
    subscriptions.subscribe(two, "$share/a/t/#", 1)
    subscriptions.subscribe(two, "$share/b/t/1", 1)
    subscriptions.subscribe(two, "$share/b/t/2", 1)
    receivers = subscriptions.receivers_of("t/1")
    assert receivers.granted == {1: 2}
    assert receivers.shared == {2: 2}


def test_a_change_of_subscriptions_counts_for_topics_that_were_asked_for_before() -> None:
    subscriptions, one = Subscriptions(), session(1)
    assert subscriptions.receivers_of("t").granted == {}
    subscriptions.subscribe(one, "t", 1)
    assert subscriptions.receivers_of("t").granted == {1: 1}
    subscriptions.subscribe(one, "t", 2)
    assert subscriptions.receivers_of("t").granted == {1: 2}
    subscriptions.unsubscribe(one, "t")
    subscriptions.unsubscribe(one, "was never there")
    assert subscriptions.receivers_of("t").granted == {}


def test_a_session_that_ends_takes_all_its_subscriptions_along() -> None:
    subscriptions, one, two = Subscriptions(), session(1), session(2)
    for topic_filter in ("t", "#", "$share/a/t"):
        subscriptions.subscribe(one, topic_filter, 1)
    subscriptions.subscribe(two, "t", 1)
    subscriptions.end(one)
    receivers = subscriptions.receivers_of("t")
    assert (receivers.granted, receivers.shared) == ({2: 1}, {})


@pytest.mark.parametrize(
    ("topic_filter", "group"),
    [
        ("$share/a/t/#", ("a", "t/#")),
        ("t/#", ("", "t/#")),
        ("$share/a", ("", "$share/a")),
        ("$share/a+/t", ("", "$share/a+/t")),
        ("$shared/a/t", ("", "$shared/a/t")),
    ],
)
def test_a_shared_subscription_is_one_by_the_rules_of_mqtt(
    topic_filter: str, group: tuple[str, str]
) -> None:
    assert group_of(topic_filter) == group
