"""Limits for a user's retained messages: their number and their bytes."""

import pytest

from gateway.broker.wire.packets import Puback, Publish, Pubrel
from tests.broker.core.harness import Client, Harness
from tests.broker.core.mqtt5 import publish
from tests.broker.core.owned import check_owners, limit, log_in


def retain(harness: Harness, client: Client, topic: str, payload: bytes = b"x") -> int:
    """Publish a retained message; return the reason code of the response."""
    client.take()
    publish(harness, client, topic, payload, retain=True)
    answer = client.take()[0]
    assert isinstance(answer, Puback)
    return answer.reason_code


def test_a_user_retains_no_more_than_its_quota_and_may_replace_what_it_has(
    harness: Harness,
) -> None:
    limit(harness, "ann", retained=2)
    client = log_in(harness, "ann", "a")
    codes = [retain(harness, client, topic) for topic in ("r/1", "r/2", "r/3", "r/1")]
    assert codes == [0x10, 0x10, 0x97, 0x10]
    assert retain(harness, client, "r/2", b"") == 0x10
    assert retain(harness, client, "r/3") == 0x10
    assert harness.broker.statistics.errors == {"user_retained": 1}
    assert retain(harness, log_in(harness, "ben", "b"), "r/4") == 0x10
    check_owners(harness.broker.state)


def test_the_bytes_of_a_user_s_retained_messages_are_bounded(harness: Harness) -> None:
    limit(harness, "ann", retained_bytes=3_000)
    client = log_in(harness, "ann", "a")
    assert retain(harness, client, "r/1", bytes(2_000)) == 0x10
    assert retain(harness, client, "r/2", bytes(2_000)) == 0x97
    assert retain(harness, client, "r/1", bytes(1_000)) == 0x10
    assert retain(harness, client, "r/2", bytes(500)) == 0x10
    assert harness.broker.statistics.errors == {"user_retained_bytes": 1}
    check_owners(harness.broker.state)


def test_a_topic_that_another_user_takes_over_counts_with_that_user(harness: Harness) -> None:
    limit(harness, "ann", retained=1)
    ann, ben = log_in(harness, "ann", "a"), log_in(harness, "ben", "b")
    retain(harness, ann, "r/1")
    retain(harness, ben, "r/1")
    assert retain(harness, ann, "r/2") == 0x10
    assert retain(harness, ann, "r/1") == 0x97
    check_owners(harness.broker.state)


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_what_cannot_be_refused_goes_out_and_is_not_retained(harness: Harness, qos: int) -> None:
    limit(harness, "ann", retained=0)
    client = log_in(harness, "ann", "a", version=4)
    client.send(Publish("r/1", b"x", qos, True, False, 1 if qos else 0))
    if qos == 2:
        client.send(Pubrel(1))
    harness.commit()
    assert harness.broker.state.retained == {}
    assert harness.broker.statistics.errors == {"user_retained": 1}
    check_owners(harness.broker.state)
