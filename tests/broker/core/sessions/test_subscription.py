"""Subscriptions: their options, their groups, and the subscription that a delivery refers to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.broker.core.sessions.message import KEY_SHIFT, QOS, RETAIN, SHARED, SINGLE_SUBSCRIPTION
from gateway.broker.core.sessions.subscription import Subscription, names_group


@given(st.integers(0, 2), st.booleans(), st.booleans(), st.integers(0, 2))
def test_the_options_are_those_of_the_options_byte(
    qos: int, no_local: bool, as_published: bool, handling: int
) -> None:
    options = qos | no_local << 2 | as_published << 3 | handling << 4
    subscription = Subscription("t", options, 0)
    assert (subscription.qos, subscription.no_local) == (qos, no_local)
    assert subscription.retain_as_published == as_published
    assert subscription.retain_handling == handling


@given(st.sampled_from(["t/#", "$share/g/t/#"]), st.integers(0, 2), st.booleans())
def test_a_delivery_remembers_the_one_subscription_that_it_came_through(
    topic_filter: str, qos: int, retain: bool
) -> None:
    subscription = Subscription(topic_filter, 2, 0)
    flags = subscription.delivery_flags(qos, retain)
    assert flags & QOS == qos
    assert flags & RETAIN != 0 if retain else flags & RETAIN == 0
    assert (flags & SHARED != 0) == subscription.is_shared
    assert flags & SINGLE_SUBSCRIPTION
    assert flags >> KEY_SHIFT == subscription.key


@pytest.mark.parametrize(
    ("topic_filter", "expected"),
    [
        ("$share/g/t", True),
        ("$share/g//", True),
        ("$share/g/", False),
        ("$share//t", False),
        ("$share/g", False),
        ("$share/+/t", False),
        ("$shared/g/t", False),
        ("t", False),
    ],
)
def test_only_a_whole_name_and_a_filter_make_a_group(topic_filter: str, expected: bool) -> None:
    assert names_group(topic_filter) is expected
