"""Shared subscriptions of users: each user has a group of its own, unless a rule shares one."""

import pytest

from gateway.broker.core.permissions import Client as PolicyClient
from gateway.broker.wire.packets import Publish, Suback, Subscribe, Subscription, Unsubscribe
from tests.broker.core.harness import Client, Harness, payloads
from tests.broker.core.owned import log_in
from tests.broker.core.permitting import Rules, both_versions

WORK = "$share/workers/work/#"


@pytest.fixture
def rules(harness: Harness) -> Rules:
    return hold(harness, Rules())


def hold(harness: Harness, rules: Rules) -> Rules:
    harness.broker.core.authenticates = True
    harness.broker.authenticate(True, [])
    harness.broker.restrict(rules)
    return rules


def worker(
    harness: Harness, user: str, client_id: str, *, version: int = 5, clean: bool = False
) -> Client:
    client = log_in(harness, user, client_id, version=version, clean=clean)
    client.take()
    join(harness, client)
    return client


def join(harness: Harness, client: Client, qos: int = 1) -> None:
    client.send(Subscribe(1, [Subscription(WORK, qos)]))
    harness.commit()
    (suback,) = client.take()
    assert isinstance(suback, Suback)
    assert suback.reason_codes == [qos]


def publish(harness: Harness, count: int) -> list[bytes]:
    """Publish messages to the group's topic; return their payloads."""
    publisher = log_in(harness, "boss", "boss", clean=True)
    sent = [b"%d" % number for number in range(count)]
    publisher.send(
        *(Publish("work/x", each, 1, False, False, index) for index, each in enumerate(sent, 1))
    )
    harness.commit()
    return sent


def waiting(harness: Harness, client_id: str) -> int:
    session = harness.session(client_id)
    return session.queued_count + len(session.outbound)


@both_versions
def test_a_stranger_takes_no_messages_out_of_a_user_s_group(
    harness: Harness, rules: Rules, version: int
) -> None:
    workers = [worker(harness, "anna", f"anna-{number}", version=version) for number in range(2)]
    mallory = worker(harness, "mallory", "m", version=version)
    sent = publish(harness, 10)
    taken = [payloads(each.take()) for each in workers]
    assert [len(each) for each in taken] == [5, 5], "several processes of one user share the work"
    assert sorted(taken[0] + taken[1]) == sent
    assert payloads(mallory.take()) == sent, "its own group has what it may read"


@both_versions
def test_users_whose_rules_name_the_group_share_it(
    harness: Harness, rules: Rules, version: int
) -> None:
    rules.common.add(WORK)
    anna, ben = (worker(harness, user, user, version=version) for user in ("anna", "ben"))
    sent = publish(harness, 10)
    taken = [payloads(each.take()) for each in (anna, ben)]
    assert [len(each) for each in taken] == [5, 5]
    assert sorted(taken[0] + taken[1]) == sent


def test_clients_without_a_user_have_a_group_together_that_is_no_user_s(
    harness: Harness, rules: Rules
) -> None:
    anna, first, second = (
        worker(harness, user, name) for user, name in (("anna", "a"), ("", "b"), ("", "c"))
    )
    sent = publish(harness, 4)
    assert payloads(anna.take()) == sent
    assert sorted(payloads(first.take()) + payloads(second.take())) == sent


def test_without_rules_a_group_is_common(harness: Harness) -> None:
    anna, ben = worker(harness, "anna", "a"), worker(harness, "ben", "b")
    sent = publish(harness, 4)
    assert sorted(payloads(anna.take()) + payloads(ben.take())) == sent


@pytest.mark.parametrize("start", ["cut", "restart"])
def test_after_a_start_each_session_is_in_its_user_s_group(
    harness: Harness, rules: Rules, start: str
) -> None:
    for user in ("anna", "mallory"):
        worker(harness, user, user)
    getattr(harness, start)()
    assert harness.session("anna").connection is None
    hold(harness, rules)
    sent = publish(harness, 6)
    assert waiting(harness, "anna") == waiting(harness, "mallory") == len(sent)
    harness.cut()
    rules.common.add(WORK)
    hold(harness, rules)
    publish(harness, 4)
    assert waiting(harness, "anna") + waiting(harness, "mallory") == 2 * len(sent) + 4


def test_other_rules_move_those_who_are_in_a_group_already(harness: Harness, rules: Rules) -> None:
    anna, ben = worker(harness, "anna", "a"), worker(harness, "ben", "b")
    rules.common.add(WORK)
    harness.broker.restrict(rules)
    assert len(publish(harness, 4)) == len(payloads(anna.take()) + payloads(ben.take()))
    rules.common.clear()
    harness.broker.restrict(rules)
    sent = publish(harness, 4)
    assert payloads(anna.take()) == payloads(ben.take()) == sent
    harness.broker.restrict(None)
    assert len(publish(harness, 4)) == len(payloads(anna.take()) + payloads(ben.take()))


def test_a_member_that_subscribes_again_or_no_more_is_in_one_group_or_in_none(
    harness: Harness, rules: Rules
) -> None:
    anna = worker(harness, "anna", "a")
    tree = harness.broker.state.tree
    rules.common.add(WORK)  # the next SUBSCRIBE consults the same rules object again
    join(harness, anna, qos=2)
    assert (tree.shared_count, tree.subscription_count) == (1, 1)
    assert len(publish(harness, 3)) == len(payloads(anna.take()))
    anna.send(Unsubscribe(2, [WORK]))
    harness.commit()
    assert (tree.shared_count, tree.subscription_count) == (0, 0)
    assert tree.filters.root.is_empty()


@pytest.mark.parametrize("is_common", [False, True])
def test_what_a_member_leaves_goes_to_its_user_alone_unless_the_group_is_common(
    harness: Harness, rules: Rules, is_common: bool
) -> None:
    if is_common:
        rules.common.add(WORK)
    leaving = worker(harness, "anna", "leaving")
    harness.lose(leaving)
    sent = publish(harness, 3)
    other, mallory = worker(harness, "anna", "other"), worker(harness, "mallory", "m")
    harness.broker.drop_session(harness.session("leaving"), harness.now)
    harness.commit()
    got = payloads(other.take()), payloads(mallory.take())
    assert sorted(got[0] + got[1]) == sent
    assert bool(got[1]) == is_common


class ByListener(Rules):
    """Rules that share a group among all clients whose listener is known."""

    def shares_group(self, client: PolicyClient, topic_filter: str, qos: int) -> bool:
        return bool(client.listener)


def test_a_session_is_in_the_group_of_its_client_s_listener_once_it_is_back(
    harness: Harness,
) -> None:
    hold(harness, ByListener())
    harness.lose(worker(harness, "anna", "a"))
    harness.lose(worker(harness, "ben", "b"))
    harness.cut()
    hold(harness, ByListener())
    publish(harness, 4)
    assert (waiting(harness, "a"), waiting(harness, "b")) == (4, 4), "it is not known yet"
    for user, client_id in (("anna", "a"), ("ben", "b")):
        harness.lose(log_in(harness, user, client_id, listener="127.0.0.1:1883"))
    publish(harness, 4)
    assert waiting(harness, "a") + waiting(harness, "b") == 8 + 4


def test_a_session_that_is_given_to_a_user_is_in_that_user_s_group(
    harness: Harness, rules: Rules
) -> None:
    harness.lose(worker(harness, "", "c"))
    anna = worker(harness, "anna", "a")
    harness.broker.assign_owner(harness.session("c"), "anna")
    harness.commit()
    sent = publish(harness, 4)
    assert waiting(harness, "c") + len(payloads(anna.take())) == len(sent)
