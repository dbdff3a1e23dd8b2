"""Valid and invalid scenarios, and the values derived from them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.tools.bench.frames import BLOCK_MESSAGES
from gateway.tools.bench.latency import STEP_FAST
from gateway.tools.bench.scenario import (
    OUTSTANDING_BYTES,
    OUTSTANDING_BYTES_ALL,
    QUEUED_MESSAGES_MAX,
    Scenario,
    ScenarioMistake,
)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"publishers": 0}, "publishers 0: expected 1 to"),
        ({"qos": 3}, "QoS 3: expected 0 to 2"),
        ({"payload_bytes": 9}, "payload size 9: expected 10 to"),
        ({"window": 32_768}, "window 32768: expected 1 to 32767"),
        ({"outstanding": 0}, "outstanding 0"),
        ({"count": 0}, "count 0"),
        ({"version": 3}, "protocol level 3"),
        ({"shape": "pairs", "publishers": 2}, "2 publishers and 1 subscribers are no pairs"),
        ({"rate": 0.0}, "rate 0.0"),
        ({"duration_seconds": 0.0}, "duration 0.0 s"),
        ({"patience_seconds": 0.0}, "patience 0.0 s"),
        ({"topic_prefix": "a/#"}, "topic prefix 'a/#'"),
        ({"away": True, "qos": 1}, "expected persistent sessions, QoS 1 or 2"),
        ({"away": True, "persistent": True}, "expected persistent sessions, QoS 1 or 2"),
        (
            {"away": True, "persistent": True, "qos": 2, "subscribers": 0},
            "at least one subscriber",
        ),
    ],
)
def test_a_scenario_that_cannot_be_run_states_what_is_allowed(
    options: dict[str, object], words: str
) -> None:
    with pytest.raises(ScenarioMistake, match=words):
        Scenario(**options)  # type: ignore[arg-type]


scenarios = st.builds(
    Scenario,
    publishers=st.integers(1, 2_000),
    subscribers=st.integers(0, 2_000),
    qos=st.integers(0, 2),
    payload_bytes=st.sampled_from([10, 64, 5_000, 1 << 20]),
    window=st.integers(1, 32_767),
    rate=st.none() | st.floats(0.1, 1e7),
)


@given(scenarios)
def test_without_a_rate_something_is_under_way_but_no_more_than_brokers_queue(
    scenario: Scenario,
) -> None:
    messages = scenario.outstanding_messages
    assert 1 <= messages <= BLOCK_MESSAGES
    if messages > 1:
        to_one = messages * scenario.publishers
        if scenario.qos:
            assert to_one <= QUEUED_MESSAGES_MAX
            assert messages <= 2 * scenario.window
        else:
            assert to_one * scenario.row_bytes <= OUTSTANDING_BYTES
            assert to_one * scenario.row_bytes * scenario.subscribers <= OUTSTANDING_BYTES_ALL


@given(scenarios)
def test_topics_are_of_one_length_and_each_publisher_has_its_own(scenario: Scenario) -> None:
    topics = {scenario.topic_of("run", number) for number in range(scenario.publishers)}
    assert len(topics) == scenario.publishers
    assert len({len(topic) for topic in topics}) == 1


@pytest.mark.parametrize(
    ("options", "step"),
    [
        ({"rate": 300.0}, 1),
        ({"rate": 200_000.0}, 10),
        ({"qos": 2, "window": 1}, 1),
        ({"qos": 2, "window": 20}, STEP_FAST),
        ({}, STEP_FAST),
        ({"subscribers": 80}, STEP_FAST * 10),
        ({"publishers": 80, "subscribers": 80, "shape": "pairs"}, STEP_FAST),
    ],
)
def test_the_more_copies_arrive_the_fewer_messages_are_timed(
    options: dict[str, object], step: int
) -> None:
    assert Scenario(**options).timing_step == step  # type: ignore[arg-type]
