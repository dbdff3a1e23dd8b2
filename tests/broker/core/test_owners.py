"""Resources of all sessions of a user, counted at each change and after a restart."""

import pytest

from gateway.broker.core.quota import Quotas
from gateway.broker.core.when_full import WhenFull
from gateway.broker.wire.packets import Puback, Publish, Pubrel, Suback, Subscription
from tests.broker.core.harness import Client, Harness, send_many
from tests.broker.core.mqtt5 import connect, publish, subscribe
from tests.broker.core.owned import check_owners, limit, log_in


def test_counters_follow_a_life_and_are_the_same_after_a_power_cut(harness: Harness) -> None:
    away = log_in(harness, "ann", "away")
    subscribe(harness, away, Subscription("t/#", 1), Subscription("u", 2))
    harness.lose(away)
    sender = log_in(harness, "ben", "sender")
    send_many(harness, sender, 10, topic="t/a")
    publish(harness, sender, "t/r", b"kept", retain=True)
    sender.send(Publish("t/h", b"held", 2, True, False, 77))
    harness.commit()
    state = harness.broker.state
    check_owners(state)
    assert state.owners.get("ann").queued_bytes > 0
    assert state.owners.get("ben").held_bytes > 0
    assert state.owners.get("ben").retained == 2
    for is_checkpointed in (False, True):
        if is_checkpointed:
            harness.checkpoint()
        harness.cut()
        state = harness.broker.state
        check_owners(state)
        assert state.owners.get("ann").queued_bytes > 0
        assert state.owners.get("ann").subscriptions == 2
        assert state.owners.get("ben").held_bytes > 0
        assert state.owners.get("ben").retained == 2
    sender = log_in(harness, "ben", "sender")
    sender.send(Pubrel(77))
    harness.commit()
    log_in(harness, "ann", "away", clean=True)
    check_owners(harness.broker.state)
    assert harness.broker.state.owners.get("ann").queued_bytes == 0


def test_a_session_that_is_given_to_a_user_counts_with_it(harness: Harness) -> None:
    client = connect(harness, "c")
    subscribe(harness, client, Subscription("t", 1))
    publish(harness, client, "r", b"x", retain=True)
    harness.broker.assign_owner(harness.session("c"), "ann")
    check_owners(harness.broker.state)
    assert harness.broker.state.owners.get("ann").subscriptions == 1
    # The retained message still belongs to the client without a user that published it.
    assert harness.broker.state.owners.get("").retained == 1


def test_a_user_who_has_nothing_any_more_is_forgotten(harness: Harness) -> None:
    harness.lose(log_in(harness, "ann", "a", clean=True))
    harness.commit()
    assert harness.broker.state.owners.all() == []


def test_subscriptions_of_all_sessions_of_a_user_are_bounded(harness: Harness) -> None:
    limit(harness, "ann", subscriptions=3)
    first, second = log_in(harness, "ann", "a1"), log_in(harness, "ann", "a2")
    assert codes(harness, first, "x", "y") == [0, 0]
    assert codes(harness, second, "x", "y") == [0, 0x97]
    assert codes(harness, second, "x") == [0]
    assert harness.broker.statistics.errors == {"user_subscriptions": 1}
    assert codes(harness, log_in(harness, "ben", "b"), "x") == [0]


def test_subscriptions_of_clients_without_a_user_are_bounded_in_bytes(harness: Harness) -> None:
    limit(harness, "", subscription_bytes=3_000)
    client = log_in(harness, "", "c")
    assert codes(harness, client, *[f"{number}" for number in range(6)]) == 3 * [0] + 3 * [0x97]
    assert harness.broker.statistics.errors == {"anonymous_subscription_bytes": 3}


def test_the_queues_of_all_sessions_of_a_user_are_bounded_in_bytes(harness: Harness) -> None:
    limit(harness, "ann", queued_bytes=1_000)
    for name in ("a1", "a2"):
        client = log_in(harness, "ann", name)
        subscribe(harness, client, Subscription("t", 1))
        harness.lose(client)
    ben = log_in(harness, "ben", "b")
    subscribe(harness, ben, Subscription("t", 1))
    harness.lose(ben)
    sender = connect(harness, "sender")
    for _ in range(10):
        publish(harness, sender, "t", bytes(200))
    ann = harness.broker.state.owners.get("ann")
    assert 800 <= ann.queued_bytes <= 1_000
    assert harness.session("b").queued_count == 10
    assert harness.broker.statistics.dropped == {"queue_bytes": 16}
    assert any("user_queued_bytes reached" in each for each, _ in harness.broker.statistics.notices)
    check_owners(harness.broker.state)


def test_unreleased_messages_of_a_user_are_bounded_and_a_little_is_free_for_each_session(
    harness: Harness,
) -> None:
    limit(harness, "ann", held_bytes=40_000)
    first, second = log_in(harness, "ann", "a1"), log_in(harness, "ann", "a2")
    answers = []
    for packet_id, client in enumerate((first, first, second, second), start=1):
        client.take()
        client.send(Publish("t", bytes(15_000), 2, False, False, packet_id))
        harness.commit()
        answers.append(client.take()[0].reason_code)  # type: ignore[attr-defined]
    assert [code >= 0x80 for code in answers] == [False, False, False, True]
    assert harness.broker.statistics.errors == {"user_awaiting_rel_bytes": 1}


def test_without_quotas_nothing_is_limited() -> None:
    quota = Quotas().quota_of("ann")
    assert quota.sessions > 1 << 50
    assert quota.packet_rate == 0


def codes(harness: Harness, client: Client, *filters: str) -> list[int]:
    answer = subscribe(harness, client, *[Subscription(each, 0) for each in filters])[0]
    assert isinstance(answer, Suback)
    return answer.reason_codes


@pytest.mark.parametrize("policy", [WhenFull.DROP_OLDEST, WhenFull.REFUSE])
def test_what_a_queue_does_at_its_limit_it_does_at_the_quota_of_its_user(
    harness: Harness, policy: WhenFull
) -> None:
    harness.limits.when_full_of = lambda _: policy
    harness.limits.queues_refuse = policy is WhenFull.REFUSE
    limit(harness, "ann", queued_bytes=1_000)
    client = log_in(harness, "ann", "a")
    subscribe(harness, client, Subscription("t", 1))
    harness.lose(client)
    sender = connect(harness, "sender")
    sender.take()
    for number in range(10):
        publish(harness, sender, "t", b"%d" % number + bytes(200))
    ann = harness.broker.state.owners.get("ann")
    assert 800 <= ann.queued_bytes <= 1_000
    codes_of = [each.reason_code for each in sender.take() if isinstance(each, Puback)]
    kept = [each.message for each in harness.session("a").waiting]
    firsts = [each.payload[:1] for each in kept if each is not None]
    if policy is WhenFull.REFUSE:
        assert codes_of == 4 * [0] + 6 * [0x97]
        assert firsts == [b"0", b"1", b"2", b"3"]
    else:
        assert codes_of == 10 * [0]
        assert firsts == [b"6", b"7", b"8", b"9"]
    check_owners(harness.broker.state)
