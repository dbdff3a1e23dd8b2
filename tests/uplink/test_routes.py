"""The choice of topics that are forwarded, and their names on the other side."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.uplink.routes import Route, Routes, Side

LEVELS = st.lists(st.text("ab$", max_size=2), min_size=1, max_size=3).map("/".join)


@pytest.mark.parametrize(
    ("route", "side", "topic", "mapped"),
    [
        (Route(filter="s/#", remote_prefix="site/"), Side.LOCAL, "s/a", "site/s/a"),
        (Route(filter="s/#", remote_prefix="site/"), Side.LOCAL, "s", "site/s"),
        (Route(filter="s/#", remote_prefix="site/"), Side.LOCAL, "t/a", None),
        (Route(filter="s/#", remote_prefix="site/"), Side.REMOTE, "site/s/a", None),
        (
            Route(filter="c/+", direction="in", remote_prefix="site/"),
            Side.REMOTE,
            "site/c/x",
            "c/x",
        ),
        (Route(filter="#", direction="both", local_prefix="up/"), Side.LOCAL, "up/a", "a"),
        (Route(filter="#", direction="both", local_prefix="up/"), Side.REMOTE, "a", "up/a"),
        # The topic without its prefix is empty, so it has no name on the other side.
        (Route(filter="#", direction="both", local_prefix="up/"), Side.LOCAL, "up/", None),
    ],
)
def test_a_topic_loses_one_sides_prefix_and_takes_the_others(
    route: Route, side: Side, topic: str, mapped: str | None
) -> None:
    assert Routes([route]).topic_from(side, topic) == mapped


def test_the_first_route_that_matches_decides() -> None:
    routes = Routes([Route(filter="a/b", remote_prefix="x/"), Route(filter="a/#")])
    assert routes.topic_from(Side.LOCAL, "a/b") == "x/a/b"
    assert routes.topic_from(Side.LOCAL, "a/c") == "a/c"


def test_a_side_is_subscribed_to_what_is_taken_from_it() -> None:
    routes = Routes(
        [
            Route(filter="out/#", qos=1, local_prefix="l/", remote_prefix="r/"),
            Route(filter="in/#", direction="in", local_prefix="l/", remote_prefix="r/"),
            Route(filter="both", direction="both", qos=0),
        ]
    )
    assert routes.subscriptions_at(Side.LOCAL) == {"l/out/#": 1, "both": 0}
    assert routes.subscriptions_at(Side.REMOTE) == {"r/in/#": 2, "both": 0}


@given(LEVELS, LEVELS, LEVELS)
def test_what_goes_there_and_back_has_its_name_again(
    topic: str, local_prefix: str, remote_prefix: str
) -> None:
    route = Route(
        filter="#",
        direction="both",
        local_prefix=f"l{local_prefix}/",
        remote_prefix=f"r{remote_prefix}/",
    )
    routes = Routes([route])
    there = routes.topic_from(Side.LOCAL, route.local_prefix + topic)
    assert there == route.remote_prefix + topic
    assert routes.topic_from(Side.REMOTE, there) == route.local_prefix + topic
