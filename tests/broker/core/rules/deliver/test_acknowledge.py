"""PUBACK, PUBREC and PUBCOMP from subscribers; a wrong packet does not change its exchange."""

import pytest

from gateway.broker.wire.packets import (
    Connack,
    Disconnect,
    Packet,
    Puback,
    Pubcomp,
    Publish,
    Pubrec,
    Pubrel,
)
from tests.broker.core.harness import Client, Harness, payloads, publish_many, publishes
from tests.broker.core.mqtt5 import (
    NEVER,
    connect,
    end_of,
    properties,
    subscriber,
)

every_version = pytest.mark.parametrize("version", [3, 4, 5])


def subscriber_of(harness: Harness, version: int, qos: int) -> tuple[Client, int]:
    """Return a persistent subscriber after one message, and the message's packet identifier."""
    harness.lose(harness.subscriber("c", "t", qos))
    client = back(harness, version)
    publisher = harness.connect("p", clean=True)
    publisher.send(Publish("t", b"x", qos, False, False, 1))
    publisher.send(*([Pubrel(1)] if qos == 2 else []))
    harness.commit()
    (packet,) = publishes(client.take())
    return client, packet.packet_id


def back(harness: Harness, version: int) -> Client:
    asked = properties(session_expiry_interval_seconds=NEVER) if version == 5 else None
    return harness.connect("c", version=version, properties=asked)


def assert_ended(client: Client) -> None:
    """Assert that the connection was closed for a protocol error; only 5.0 has a reason code."""
    assert client.closed
    received = client.take()
    if client.version == 5:
        (end,) = received
        assert isinstance(end, Disconnect)
        assert end.reason_code == 0x82
    else:
        assert received == []


@pytest.mark.statement("MQTT5-4.4.0-1", "MQTT5-4.13.1-1", "MQTT-4.4.0-1", "MQTT-4.8.0-1")
@every_version
@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize(("qos", "wrong"), [(1, Pubrec), (1, Pubcomp), (2, Puback), (2, Pubcomp)])
def test_before_pubrec_the_message_is_sent_again_to_a_client_that_comes_back(
    harness: Harness,
    qos: int,
    wrong: type[Puback | Pubrec | Pubcomp],
    cut: bool,
    version: int,
) -> None:
    client, packet_id = subscriber_of(harness, version, qos)
    client.send(wrong(packet_id))
    harness.commit()
    assert_ended(client)
    if cut:
        harness.cut()
    client = back(harness, version)
    (again,) = publishes(client.take())
    assert (again.packet_id, again.payload, again.dup) == (packet_id, b"x", True)
    finish(harness, client, qos, packet_id)


@every_version
@pytest.mark.parametrize("cut", [False, True])
def test_behind_pubrec_it_is_pubrel_that_is_sent_again(
    harness: Harness, cut: bool, version: int
) -> None:
    client, packet_id = subscriber_of(harness, version, 2)
    client.send(Pubrec(packet_id))
    harness.commit()
    assert client.take() == [Pubrel(packet_id)]
    client.send(Puback(packet_id))
    harness.commit()
    assert_ended(client)
    if cut:
        harness.cut()
    client = back(harness, version)
    _, *packets = client.take()
    assert packets == [Pubrel(packet_id)]
    client.send(Pubcomp(packet_id))
    harness.commit()
    assert_nothing_is_left(harness, version)


def finish(harness: Harness, client: Client, qos: int, packet_id: int) -> None:
    answers: list[Packet] = [Puback(packet_id)]
    if qos == 2:
        answers = [Pubrec(packet_id), Pubcomp(packet_id)]
    client.send(*answers)
    harness.commit()
    assert_nothing_is_left(harness, client.version)


def assert_nothing_is_left(harness: Harness, version: int) -> None:
    harness.checkpoint()
    assert set(harness.rows().values()) == {0}
    harness.cut()
    (connack,) = back(harness, version).take()
    assert isinstance(connack, Connack)
    assert connack.session_present or version == 3


@every_version
@pytest.mark.parametrize("wrong", [Puback, Pubrec, Pubcomp, Pubrel])
def test_one_that_no_client_waits_for_changes_nothing(
    harness: Harness, wrong: type[Puback | Pubrec | Pubcomp | Pubrel], version: int
) -> None:
    client, packet_id = subscriber_of(harness, version, 1)
    client.send(wrong(packet_id + 1))
    harness.commit()
    assert not client.closed
    client.take()
    client.send(Puback(packet_id), Puback(packet_id))  # the second one, too
    harness.commit()
    assert not client.closed
    assert payloads(client.take()) == []
    assert not harness.session("c").outbound


@pytest.mark.statement("MQTT5-4.4.0-2", "MQTT5-3.4.2-1", "MQTT5-3.5.2-1")
@pytest.mark.parametrize("qos", [1, 2])
def test_an_acknowledgement_with_an_error_ends_the_exchange_on_disk_too(
    harness: Harness, qos: int
) -> None:
    client = subscriber(harness, "c", "t", qos)
    publish_many(harness, 1, qos)
    (packet,) = publishes(client.take())
    client.send((Puback if qos == 1 else Pubrec)(packet.packet_id, 0x80))
    harness.commit()
    assert client.take() == []
    harness.checkpoint()
    assert harness.rows() == {"inbound": 0, "outbound": 0, "queue": 0, "messages": 0}
    harness.cut()
    assert publishes(connect(harness, "c").take()) == []


@pytest.mark.parametrize(
    ("qos", "wrong"),
    [(1, Pubrec(1)), (1, Pubcomp(1)), (2, Puback(1)), (2, Pubcomp(1))],
)
def test_an_acknowledgement_of_another_qos_is_a_protocol_error_and_changes_nothing(
    harness: Harness, qos: int, wrong: Puback | Pubrec | Pubcomp
) -> None:
    client = subscriber(harness, "c", "t", qos)
    publish_many(harness, 1, qos)
    (packet,) = publishes(client.take())
    wrong.packet_id = packet.packet_id
    client.send(wrong)
    harness.commit()
    assert end_of(client) == 0x82
    harness.cut()
    (again,) = publishes(connect(harness, "c").take())
    assert (again.packet_id, again.dup) == (packet.packet_id, True)


def test_acknowledgements_of_what_was_never_sent_are_survived(harness: Harness) -> None:
    client = connect(harness, "c")
    client.take()
    client.send(Puback(7), Pubrec(8), Pubcomp(9), Pubrec(10, 0x80), Pubrel(11))
    harness.commit()
    assert client.take() == [Pubrel(8, 0x92), Pubcomp(11, 0x92)]
    assert not client.closed


@pytest.mark.statement(
    "MQTT5-4.3.3-2",
    "MQTT5-4.3.3-4",
    "MQTT5-4.3.3-5",
    "MQTT5-4.3.3-6",
    "MQTT5-4.3.3-3",
    "MQTT5-3.3.1-1",
)
def test_after_pubrec_it_is_pubrel_that_is_sent_again(harness: Harness) -> None:
    client = subscriber(harness, "c", "t", 2)
    publish_many(harness, 2, 2)
    first, second = publishes(client.take())
    assert not first.dup
    client.send(Pubrec(first.packet_id))
    harness.commit()
    assert client.take() == [Pubrel(first.packet_id)]
    for cut in (False, True):
        harness.lose(client)
        if cut:
            harness.cut()
        client = connect(harness, "c")
        _, *packets = client.take()
        assert packets[0] == Pubrel(first.packet_id)
        (again,) = publishes(packets)
        assert (again.packet_id, again.payload, again.dup) == (second.packet_id, b"1", True)


@pytest.mark.statement("MQTT5-4.6.0-4")
def test_pubrels_leave_in_the_order_of_the_pubrecs(harness: Harness) -> None:
    client = subscriber(harness, "c", "t", 2)
    publisher = connect(harness, "p")
    for number in range(1, 5):
        publisher.send(Publish("t", b"x", 2, False, False, number), Pubrel(number))
    harness.commit()
    order = [packet.packet_id for packet in publishes(client.take())]
    order = [order[2], order[0], order[3], order[1]]
    client.send(*(Pubrec(packet_id) for packet_id in order))
    harness.commit()
    assert client.take() == [Pubrel(packet_id) for packet_id in order]
