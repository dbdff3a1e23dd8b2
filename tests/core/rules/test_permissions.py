"""Who may connect, publish, subscribe and receive: every seam, through packets of both versions."""

from pathlib import Path

import pytest

from gateway.core.records.events import decode
from gateway.core.rules import permissions as permissions_module
from gateway.core.rules.permissions import AccessRules, Client
from gateway.wire.packets import (
    Connack,
    Connect,
    Packet,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
    Suback,
    Subscribe,
    Subscription,
    Will,
)
from tests.core.harness import Client as Peer
from tests.core.harness import Harness, payloads, publishes

NOT_AUTHORIZED = 0x87
FAILURE = 0x80
both_versions = pytest.mark.parametrize("version", [4, 5])


class Rules(AccessRules):
    """Forbids what a test names, as pairs of client identifier and topic or filter."""

    def __init__(self) -> None:
        self.connect: set[str] = set()
        self.publish: set[tuple[str, str]] = set()
        self.subscribe: set[tuple[str, str]] = set()
        self.receive: set[tuple[str, str]] = set()
        self.asked: list[tuple[str, str, str | None, str]] = []

    def _ask(self, question: str, client: Client) -> None:
        self.asked.append((question, client.client_id, client.username, client.listener))

    def may_connect(self, client: Client) -> bool:
        self._ask("connect", client)
        return client.client_id not in self.connect

    def may_publish(self, client: Client, topic: str, qos: int, retain: bool) -> bool:
        self._ask("publish", client)
        return (client.client_id, topic) not in self.publish

    def may_subscribe(self, client: Client, topic_filter: str, qos: int) -> bool:
        self._ask("subscribe", client)
        return (client.client_id, topic_filter) not in self.subscribe

    def may_receive(self, client: Client, topic: str) -> bool:
        self._ask("receive", client)
        return (client.client_id, topic) not in self.receive


@pytest.fixture
def rules(harness: Harness) -> Rules:
    made = Rules()
    harness.broker.restrict(made)
    return made


def errors(harness: Harness) -> dict[str, int]:
    return harness.broker.statistics.errors


def connack_of(
    harness: Harness, version: int, client_id: str, will: Will | None = None
) -> tuple[Peer, int]:
    client = harness.open_connection(version)
    client.send(Connect(version, client_id, True, 0, will, None, None))
    harness.commit()
    (connack,) = client.take()
    assert isinstance(connack, Connack)
    return client, connack.reason_code


def answered(harness: Harness, client: Peer, *packets: Packet) -> list[Packet]:
    client.send(*packets)
    harness.commit()
    return client.take()


def subscribed(harness: Harness, client: Peer, *filters: str, qos: int = 2) -> list[int]:
    wanted = [Subscription(topic_filter, qos) for topic_filter in filters]
    (suback, *_) = answered(harness, client, Subscribe(1, wanted))
    assert isinstance(suback, Suback)
    return list(suback.reason_codes)


def message(qos: int, topic: str = "t", *, retain: bool = False) -> Publish:
    return Publish(topic, b"x", qos, retain, False, 1 if qos else 0)


# -- connect


@pytest.mark.parametrize(("version", "code"), [(4, 5), (5, NOT_AUTHORIZED)])
def test_a_client_that_must_not_connect_is_refused_after_authentication(
    harness: Harness, rules: Rules, version: int, code: int
) -> None:
    rules.connect.add("c")
    client, found = connack_of(harness, version, "c")
    assert found == code
    assert client.closed
    assert errors(harness) == {"not_authorized": 1}
    assert "c" not in harness.broker.state.sessions
    assert connack_of(harness, version, "other")[1] == 0


def test_a_refused_client_does_not_take_over_the_session_of_its_identifier(
    harness: Harness,
) -> None:
    there = harness.connect("c")
    rules = Rules()
    rules.connect.add("c")
    harness.broker.restrict(rules)
    assert connack_of(harness, 4, "c")[1] == 5
    assert not there.closed


# -- publish


def test_a_forbidden_publish_at_qos_0_goes_nowhere_and_is_counted(
    harness: Harness, rules: Rules
) -> None:
    watch = harness.subscriber("watch", "#", 0)
    client = harness.connect("c")
    client.take()
    rules.publish.add(("c", "t"))
    assert answered(harness, client, message(0), message(0, "free")) == []
    assert [packet.topic for packet in publishes(watch.take())] == ["free"]
    assert errors(harness) == {"publish_not_authorized": 1}
    assert harness.broker.statistics.publishes_refused == 1


@both_versions
def test_a_forbidden_publish_at_qos_1_is_acknowledged_and_goes_nowhere(
    harness: Harness, rules: Rules, version: int
) -> None:
    # [MQTT-3.3.5-2] before 5.0 a positive acknowledgement is the only one that there is
    watch = harness.subscriber("watch", "#", 1)
    client = harness.connect("c", version=version)
    client.take()
    rules.publish.add(("c", "t"))
    (puback,) = answered(harness, client, message(1))
    assert isinstance(puback, Puback)
    assert puback.reason_code == (NOT_AUTHORIZED if version == 5 else 0)
    assert watch.take() == []
    assert errors(harness) == {"publish_not_authorized": 1}


@both_versions
def test_a_forbidden_publish_at_qos_2_is_not_held(
    harness: Harness, rules: Rules, version: int
) -> None:
    watch = harness.subscriber("watch", "#", 2)
    client = harness.connect("c", version=version)
    client.take()
    rules.publish.add(("c", "t"))
    (pubrec,) = answered(harness, client, message(2))
    assert isinstance(pubrec, Pubrec)
    assert pubrec.reason_code == (NOT_AUTHORIZED if version == 5 else 0)
    assert not harness.session("c").inbound
    if version == 4:
        (pubcomp,) = answered(harness, client, Pubrel(1))
        assert isinstance(pubcomp, Pubcomp)
    assert watch.take() == []
    assert errors(harness) == {"publish_not_authorized": 1}


def test_a_forbidden_message_is_not_retained(harness: Harness, rules: Rules) -> None:
    client = harness.connect("c")
    rules.publish.add(("c", "t"))
    answered(harness, client, message(1, retain=True))
    assert harness.broker.state.retained == {}


# -- wills


@pytest.mark.parametrize(("version", "code"), [(4, 5), (5, NOT_AUTHORIZED)])
def test_a_client_whose_will_it_must_not_publish_is_refused(
    harness: Harness, rules: Rules, version: int, code: int
) -> None:
    rules.publish.add(("c", "gone"))
    assert connack_of(harness, version, "c", Will("gone", b"x", 1, False))[1] == code
    assert errors(harness) == {"will_not_authorized": 1}
    assert connack_of(harness, version, "c", Will("other", b"x", 1, False))[1] == 0


def test_a_will_that_was_forbidden_since_connect_does_not_go_out_and_does_not_come_back(
    harness: Harness, rules: Rules
) -> None:
    watch = harness.subscriber("watch", "#", 1)
    client = harness.connect("c", will=Will("gone", b"x", 1, True))
    rules.publish.add(("c", "gone"))
    harness.lose(client)
    harness.commit()
    assert watch.take() == []
    assert errors(harness) == {"will_not_authorized": 1}
    assert harness.broker.state.retained == {}
    harness.cut()
    assert harness.broker.state.wills == {}


# -- subscribe


@pytest.mark.parametrize(("version", "code"), [(4, FAILURE), (5, NOT_AUTHORIZED)])
def test_each_forbidden_filter_of_a_subscribe_is_refused_and_the_others_are_not(
    harness: Harness, rules: Rules, version: int, code: int
) -> None:
    client = harness.connect("c", version=version)
    client.take()
    rules.subscribe.add(("c", "secret/#"))
    assert subscribed(harness, client, "a", "secret/#", "b") == [2, code, 2]
    assert list(harness.session("c").subscriptions) == ["a", "b"]
    assert errors(harness) == {"subscribe_not_authorized": 1}


def test_a_filter_that_was_subscribed_to_before_is_asked_about_again(
    harness: Harness, rules: Rules
) -> None:
    client = harness.connect("c")
    client.take()
    assert subscribed(harness, client, "t") == [2]
    rules.subscribe.add(("c", "t"))
    assert subscribed(harness, client, "t") == [FAILURE]


def test_a_shared_subscription_is_asked_about_without_its_group(
    harness: Harness, rules: Rules
) -> None:
    client = harness.connect("c", version=5)
    client.take()
    rules.subscribe.add(("c", "secret/#"))
    assert subscribed(harness, client, "$share/group/secret/#", "$share/group/a") == [
        NOT_AUTHORIZED,
        2,
    ]


# -- receive


@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("clean", [True, False])
def test_a_message_goes_to_those_only_who_may_receive_it(
    harness: Harness, rules: Rules, qos: int, clean: bool
) -> None:
    refused = harness.subscriber("refused", "#", qos, clean=clean)
    other = harness.subscriber("other", "#", qos, clean=clean)
    publisher = harness.connect("publisher")
    rules.receive.add(("refused", "t"))
    answered(harness, publisher, message(qos), *([Pubrel(1)] if qos == 2 else []))
    answered(harness, publisher, message(0, "free"))
    assert [packet.topic for packet in publishes(other.take())] == ["t", "free"]
    assert [packet.topic for packet in publishes(refused.take())] == ["free"]
    assert errors(harness) == {"receive_not_authorized": 1}
    assert harness.broker.statistics.dropped == {}


def test_a_message_that_a_client_must_not_receive_does_not_enter_its_queue_while_it_is_away(
    harness: Harness, rules: Rules
) -> None:
    away = harness.subscriber("away", "#", 1)
    harness.lose(away)
    rules.receive.add(("away", "t"))
    answered(harness, harness.connect("publisher"), message(1))
    assert harness.session("away").queued_count == 0


def test_a_5_0_publisher_learns_that_no_client_may_receive_its_message(
    harness: Harness, rules: Rules
) -> None:
    harness.subscriber("refused", "#", 1)
    publisher = harness.connect("publisher", version=5)
    publisher.take()
    rules.receive.add(("refused", "t"))
    (puback,) = answered(harness, publisher, message(1))
    assert isinstance(puback, Puback)
    assert puback.reason_code == 0x10, "no matching subscribers"


@pytest.mark.parametrize("qos", [0, 1])
def test_of_a_shared_subscription_a_member_gets_the_message_that_may_receive_it(
    harness: Harness, rules: Rules, qos: int
) -> None:
    members = [harness.connect(name, version=5) for name in ("refused", "other")]
    for member in members:
        member.take()
        subscribed(harness, member, "$share/group/#", qos=qos)
    publisher = harness.connect("publisher")
    rules.receive.add(("refused", "t"))
    for _ in range(4):
        answered(harness, publisher, message(qos))
    assert [len(publishes(member.take())) for member in members] == [0, 4]


def test_a_shared_subscription_of_which_no_member_may_receive_counts_as_refused(
    harness: Harness, rules: Rules
) -> None:
    member = harness.connect("refused", version=5)
    member.take()
    subscribed(harness, member, "$share/group/#")
    rules.receive.add(("refused", "t"))
    answered(harness, harness.connect("publisher"), message(1))
    assert errors(harness) == {"receive_not_authorized": 1}
    assert harness.broker.statistics.dropped == {}


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("qos", [0, 1])
def test_what_is_retained_goes_to_a_new_subscriber_only_where_it_may_receive_it(
    harness: Harness, rules: Rules, clean: bool, qos: int
) -> None:
    publisher = harness.connect("publisher")
    answered(harness, publisher, message(qos, "t", retain=True), message(qos, "a", retain=True))
    rules.receive.add(("c", "t"))
    client = harness.connect("c", clean=clean)
    client.take()
    packets = answered(harness, client, Subscribe(1, [Subscription("#", qos)]))
    assert [packet.topic for packet in publishes(packets)] == ["a"]
    assert errors(harness) == {"receive_not_authorized": 1}


def test_the_values_under_sys_go_to_those_only_who_may_receive_them(
    harness: Harness, rules: Rules
) -> None:
    rules.receive.add(("refused", "$SYS/broker/uptime"))
    clients = [harness.connect(name) for name in ("refused", "other")]
    for client in clients:
        client.take()
        subscribed(harness, client, "$SYS/#")
    harness.broker.answer_system_subscriptions(
        {"$SYS/broker/uptime": b"1", "$SYS/broker/version": b"v"}
    )
    harness.flush()
    assert [payloads(client.take()) for client in clients] == [[b"v"], [b"1", b"v"]]
    harness.broker.publish_system_values({"$SYS/broker/uptime": b"2"})
    harness.flush()
    assert [payloads(client.take()) for client in clients] == [[], [b"2"]]


def test_other_rules_hold_for_topics_that_were_published_to_before(harness: Harness) -> None:
    watch = harness.subscriber("watch", "#", 0)
    publisher = harness.connect("publisher")
    answered(harness, publisher, message(0))
    assert len(publishes(watch.take())) == 1
    rules = Rules()
    rules.receive.add(("watch", "t"))
    harness.broker.restrict(rules)
    answered(harness, publisher, message(0))
    assert watch.take() == []
    harness.broker.restrict(None)
    answered(harness, publisher, message(0))
    assert len(publishes(watch.take())) == 1


# -- whom a question is about


class ByListener(Rules):
    """Lets messages go to clients of one listener only."""

    def may_receive(self, client: Client, topic: str) -> bool:
        return client.listener == "inside"


def at_listener(harness: Harness, client_id: str, listener: str) -> Peer:
    connection = harness.broker.accept("127.0.0.1:1", True, harness.now, None, listener)
    client = Peer(harness, connection, 4)
    harness.clients[connection] = client
    client.send(Connect(4, client_id, False, 0, None, None, None))
    harness.commit()
    client.take()
    return client


def test_a_client_that_comes_back_through_another_listener_is_asked_about_there(
    harness: Harness,
) -> None:
    harness.broker.restrict(ByListener())
    publisher = harness.connect("publisher")
    client = at_listener(harness, "c", "inside")
    subscribed(harness, client, "#", qos=0)
    answered(harness, publisher, message(0))
    assert len(publishes(client.take())) == 1
    client = at_listener(harness, "c", "outside")
    answered(harness, publisher, message(0))
    assert client.take() == []


def test_a_user_name_counts_only_where_there_are_passwords_to_prove_it(
    harness: Harness, rules: Rules
) -> None:
    client = harness.open_connection()
    client.send(Connect(4, "c", True, 0, None, "alice", b"anything"))
    harness.commit()
    assert rules.asked == [("connect", "c", None, "")]


def test_without_rules_nothing_is_asked(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    rules = Rules()
    harness.broker.restrict(rules)
    harness.broker.restrict(None)
    watch = harness.subscriber("watch", "#", 1)
    answered(harness, harness.connect("c"), message(1))
    assert len(publishes(watch.take())) == 1
    assert rules.asked == []
    harness.close()


def test_clients_that_are_remembered_are_bounded(
    harness: Harness, rules: Rules, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(permissions_module, "CLIENTS_MAX", 3)
    for number in range(10):
        client = harness.connect(f"c{number}")
        answered(harness, client, message(0))
        assert len(harness.broker._permissions._clients) <= 3


def test_a_session_that_ended_is_not_remembered(harness: Harness, rules: Rules) -> None:
    client = harness.connect("c", clean=True)
    answered(harness, client, message(0))
    assert len(harness.broker._permissions._clients) == 1
    harness.lose(client)
    assert harness.broker._permissions._clients == {}


class Counting(Rules):
    """Counts questions about publishing."""

    def __init__(self) -> None:
        super().__init__()
        self.questions: list[tuple[str, int, bool]] = []

    def may_publish(self, client: Client, topic: str, qos: int, retain: bool) -> bool:
        self.questions.append((client.client_id, qos, retain))
        return super().may_publish(client, topic, qos, retain) and qos < 2


def test_the_same_publish_is_asked_about_once_until_rules_change(harness: Harness) -> None:
    rules = Counting()
    harness.broker.restrict(rules)
    first, second = harness.connect("a"), harness.connect("b")
    for _ in range(3):
        answered(harness, first, message(0), message(1), message(1, retain=True))
        answered(harness, second, message(2))
    assert rules.questions == [("a", 0, False), ("a", 1, False), ("a", 1, True), ("b", 2, False)]
    assert errors(harness) == {"publish_not_authorized": 3}
    harness.broker.restrict(rules)
    answered(harness, first, message(0))
    assert len(rules.questions) == 5
    answered(harness, first, message(0, "other"))
    assert len(rules.questions) == 6


def test_answers_that_are_kept_are_bounded(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(permissions_module, "ANSWERS_BYTES_MAX", 3_000)
    rules = Counting()
    harness.broker.restrict(rules)
    client = harness.connect("a")
    for number in range(100):
        answered(harness, client, message(0, f"t{number}"))
        clients = harness.broker._permissions._clients.values()
        assert sum(len(each.answers) for each in clients) <= 20
    assert len(rules.questions) == 100


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_the_log_says_which_persistent_session_may_not_have_a_message(
    harness: Harness, rules: Rules, qos: int
) -> None:
    for name, clean in (("refused", False), ("clean", True), ("other", False)):
        harness.subscriber(name, "#", 2, clean=clean)
    rules.receive |= {("refused", "t"), ("clean", "t")}
    publisher = harness.connect("publisher", version=5, clean=True)
    answered(harness, publisher, message(qos), *([Pubrel(1)] if qos == 2 else []))
    events = [event for blob in harness.blobs for event in decode(blob).events]
    dropped = [
        (event["client_id"], event["reason"])
        for event in events
        if event["event"] == "message_dropped"
    ]
    assert dropped == ([("refused", "refused")] if qos else [])
    matched = [event["matched"] for event in events if "matched" in event]
    assert matched == ([2] if qos else [])
    assert errors(harness) == {"receive_not_authorized": 2}
