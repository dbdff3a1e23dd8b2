"""Messages of a shared subscription when the session of their member ends (5.0 section 4.8.2)."""

import pytest

from gateway.broker.wire.packets import (
    Disconnect,
    Puback,
    Pubcomp,
    Pubrec,
    Subscription,
)
from tests.broker.core.harness import Harness, payloads, publishes
from tests.broker.core.mqtt5 import connect, properties, publish, subscribe
from tests.broker.core.rules.subscribe.groups import member, publish_to_group


def test_what_came_through_a_group_goes_on_in_that_group_when_its_member_ends(
    harness: Harness,
) -> None:
    leaving = connect(harness, "leaving", expiry=0)
    subscribe(harness, leaving, Subscription("$share/g/t", 1))
    subscribe(harness, leaving, Subscription("$share/h/t", 1))
    publish(harness, connect(harness, "p"), "t", b"x")
    others = {}
    for group in "gh":
        others[group] = connect(harness, group)
        subscribe(harness, others[group], Subscription(f"$share/{group}/t", 1))
    leaving.send(Disconnect())
    harness.commit()
    assert payloads(others["g"].take()) == payloads(others["h"].take()) == [b"x"]


@pytest.mark.parametrize("cut", [False, True])
def test_what_waited_on_disk_only_goes_to_another_as_well(harness: Harness, cut: bool) -> None:
    away = member(harness, "away", receive_maximum=2)
    harness.lose(away)
    sent = publish_to_group(harness, 600)
    assert harness.session("away").queued_count == 600
    harness.checkpoint()
    harness.seal()
    if cut:
        harness.cut()
    assert harness.session("away").stored_count == 600
    other = member(harness, "other", qos=1)
    harness.broker.drop_session(harness.session("away"), harness.now)
    harness.commit()
    got = payloads(other.take())
    while len(got) < len(sent):
        harness.cut()  # the disk lost no message when the first member's session ended
        other = connect(harness, "other")
        more = payloads(other.take())
        assert more, f"{len(got)} of {len(sent)}"
        other.send(*(Puback(number) for number in list(harness.session("other").outbound)))
        harness.commit()
        got += [payload for payload in more if payload not in got]
    assert got == sent
    harness.checkpoint()


def test_a_message_that_only_a_clean_member_still_had_is_on_disk_before_another_has_it(
    harness: Harness,
) -> None:
    clean = member(harness, "clean", qos=1, expiry=0)
    persistent = connect(harness, "persistent")
    subscribe(harness, persistent, Subscription("t/#", 1))
    publish(harness, connect(harness, "p"), "t/1", b"x")
    persistent.send(Puback(1))
    harness.commit()
    harness.checkpoint()  # the message has no row, and the checkpoint covers its blob
    other = member(harness, "other", qos=1, receive_maximum=1)
    clean.send(Disconnect())
    harness.commit()
    assert payloads(other.take()) == [b"x"]
    harness.cut()
    assert payloads(connect(harness, "other").take()) == [b"x"]


@pytest.mark.parametrize("how", ["clean session", "expired", "discarded", "disconnect"])
@pytest.mark.statement("MQTT5-4.8.2-4", "MQTT5-4.8.2-5")
def test_a_member_that_ends_hands_on_qos_1_and_never_qos_2(harness: Harness, how: str) -> None:
    leaver = member(harness, "leaver", expiry=0 if how == "clean session" else 10)
    publish_to_group(harness, 2, 1)
    publish_to_group(harness, 2, 2)
    assert len(publishes(leaver.take())) == 4
    stayer = member(harness, "stayer")
    if how == "disconnect":
        leaver.send(Disconnect(0, properties(session_expiry_interval_seconds=0)))
        harness.commit()
    else:
        harness.lose(leaver)
        harness.commit()
    if how in ("expired", "discarded"):
        assert publishes(stayer.take()) == []  # the leaver's session still waits for its client
    if how == "expired":
        harness.advance(10)
    elif how == "discarded":
        connect(harness, "leaver", clean=True)
    packets = publishes(stayer.take())
    assert [(packet.payload, packet.qos, packet.dup) for packet in packets] == [
        (b"0", 1, False),
        (b"1", 1, False),
    ]
    harness.cut()
    assert payloads(connect(harness, "stayer").take()) == [b"0", b"1"]
    assert "leaver" not in harness.broker.state.sessions or how == "discarded"


@pytest.mark.statement("MQTT5-4.8.2-4")
def test_qos_2_is_completed_with_the_member_that_began_it(harness: Harness) -> None:
    first = member(harness, "first")
    publish_to_group(harness, 1, 2)
    (packet,) = publishes(first.take())
    other = member(harness, "other")
    harness.lose(first)
    harness.cut()
    first, other = connect(harness, "first"), connect(harness, "other")
    (again,) = publishes(first.take())
    assert (again.packet_id, again.dup) == (packet.packet_id, True)
    first.send(Pubrec(packet.packet_id), Pubcomp(packet.packet_id))
    harness.commit()
    first.send(Pubcomp(packet.packet_id))
    harness.commit()
    assert publishes(other.take()) == []


@pytest.mark.statement("MQTT5-4.8.2-6")
@pytest.mark.parametrize("qos", [1, 2])
def test_what_a_member_refuses_is_discarded(harness: Harness, qos: int) -> None:
    first = member(harness, "first")
    publish_to_group(harness, 1, qos)
    (packet,) = publishes(first.take())
    other = member(harness, "other")
    first.send((Puback if qos == 1 else Pubrec)(packet.packet_id, 0x83))
    harness.commit()
    harness.lose(first)
    connect(harness, "first", clean=True)
    assert publishes(other.take()) == []


def test_what_waited_for_a_member_that_ends_goes_to_another(harness: Harness) -> None:
    leaver = member(harness, "leaver", expiry=10)
    harness.lose(leaver)
    sent = publish_to_group(harness, 3, 2)
    assert harness.session("leaver").queued_count == 3
    stayer = member(harness, "stayer")
    harness.advance(11)
    assert payloads(stayer.take()) == sent


def test_what_is_left_to_another_while_a_checkpoint_is_written_keeps_its_contents_in_a_cut(
    harness: Harness,
) -> None:
    leaver, stayer = member(harness, "leaver", expiry=10), member(harness, "stayer")
    for client in (leaver, stayer):
        harness.lose(client)
    sent = publish_to_group(harness, 4)
    harness.begin_checkpoint()
    harness.advance(11)
    assert harness.session("stayer").queued_count == len(sent)
    while harness.store.checkpointing:
        harness.seal(checkpoint_chunks=1_000)
    harness.cut()
    assert sorted(payloads(connect(harness, "stayer").take())) == sent
