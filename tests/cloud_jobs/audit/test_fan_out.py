"""The check `fan_out`: sessions that a topic reaches, by Spark's implementation of filters."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from cloud_jobs.audit.fan_out import matches_of

REACHED = {
    ("t/1", "t/1"): True,
    ("t/1", "t/2"): False,
    ("t/+", "t/1"): True,
    ("t/+", "t/1/2"): False,
    ("t/+", "t/"): True,
    ("+", "/t"): False,
    ("+/+", "/t"): True,
    ("t/#", "t"): True,
    ("t/#", "t/1/2"): True,
    ("t/#", "tt"): False,
    ("#", "t/1"): True,
    ("#", "$SYS/x"): False,
    ("+/x", "$SYS/x"): False,
    ("$SYS/#", "$SYS/x"): True,
    ("a.c", "abc"): False,
    ("(a|b)*", "(a|b)*"): True,
    ("\\E.*\\Q", "\\E.*\\Q"): True,
    ("\\E.*\\Q", "anything"): False,
    ("two\nlines/+", "two\nlines/x\ny"): True,
    ("$share/group/t/+", "t/1"): True,
    ("$share/group/t/+", "u/1"): False,
}


@pytest.fixture(scope="module")
def reached(spark: SparkSession) -> set[tuple[str, str]]:
    """Return the pairs of filter and topic that match.

    One query answers all pairs: pair n is session n and release n of a gateway of its own.
    """
    subscribed = [
        ("gw", str(n), "subscribed", n, 1, topic_filter, 1)
        for n, (topic_filter, _) in enumerate(REACHED)
    ]
    released = [("gw", str(n), 2, topic) for n, (_, topic) in enumerate(REACHED)]
    events = spark.createDataFrame(
        subscribed,
        "gateway string, store string, event string, session long, sequence long, filter string,"
        " qos long",
    )
    releases = spark.createDataFrame(
        released, "gateway string, store string, released_at long, topic string"
    )
    pairs = list(REACHED)
    return {pairs[row.session] for row in matches_of(releases, events).collect()}


@pytest.mark.parametrize("pair", REACHED, ids=map(repr, REACHED))
def test_a_topic_reaches_a_subscription_by_the_rules_of_mqtt(
    pair: tuple[str, str], reached: set[tuple[str, str]]
) -> None:
    assert (pair in reached) is REACHED[pair]


def test_an_exception_names_the_release_and_the_subscription(audit: dict[str, object]) -> None:
    exceptions = audit["exceptions"]
    assert isinstance(exceptions, list)
    (one,) = [one for one in exceptions if one["gateway"] == "lost-before-its-queue"]
    assert (one["message"], one["session"], one["sequences"]) == (1, 2, [3, 5])
