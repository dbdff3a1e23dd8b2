"""Retained messages of users that were removed or whose rules changed, on real sockets."""

from pathlib import Path

from gateway.broker.access.passwords.file import remove_user, set_password
from tests.broker.server.ruled_broker import RULES, RuledBroker, eventually, running
from tests.peers.byte_client import ByteClient
from tests.peers.mqtt_bytes import Will, publish, subscribe


async def retain(client: ByteClient, topic: str, payload: bytes) -> None:
    client.send(publish(topic, payload, qos=1, retain=True, packet_id=1))
    await client.packet()


async def seen_by_anna(broker: RuledBroker, client_id: str) -> list[bytes]:
    """Return the retained messages that anna receives, sorted; her own message marks the end."""
    anna = await broker.log_in("anna", client_id)
    anna.send(subscribe(1, ("shared/#", 0)))
    assert (await anna.packet())[0] == 0x90
    anna.send(publish("shared/end", b"end"))
    found = []
    while not (packet := await anna.packet()).endswith(b"end"):
        found.append(packet[-3:])
    return sorted(found)


async def with_messages(broker: RuledBroker) -> None:
    await retain(await broker.log_in("anna", "a"), "shared/a", b"ann")
    await retain(await broker.log_in("ben", "b"), "shared/b", b"ben")


async def test_a_rule_that_forbids_the_publisher_holds_for_what_it_has_retained(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as broker:
        await with_messages(broker)
        assert await seen_by_anna(broker, "1") == [b"ann", b"ben"]
        broker.rules.write_text("deny user ben publish shared/#\n" + RULES)
        broker.running.reloading.reload()
        assert await seen_by_anna(broker, "2") == [b"ann"]
        assert broker.errors["retained_source_not_authorized"] == 1
        broker.rules.write_text(RULES)
        broker.running.reloading.reload()
        assert await seen_by_anna(broker, "3") == [b"ann", b"ben"]


async def test_a_user_that_was_removed_is_heard_no_more_also_after_restarts(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as broker:
        await with_messages(broker)
        state = broker.running.event_loop.broker.state
        broker.running.event_loop.broker.drop_session(state.sessions["b"], 0.0)
        remove_user(broker.users, "ben")
        broker.running.reloading.reload()
        assert await seen_by_anna(broker, "1") == [b"ann"]
    # `running` adds both users again.
    async with running(tmp_path) as broker:
        assert await seen_by_anna(broker, "2") == [b"ann", b"ben"]
        remove_user(broker.users, "ben")
        broker.running.reloading.reload()
        assert await seen_by_anna(broker, "3") == [b"ann"]
        set_password(broker.users, "ben", b"other", scram_iterations=4_096)
        broker.running.reloading.reload()
        assert await seen_by_anna(broker, "4") == [b"ann", b"ben"]


async def test_a_retained_will_of_a_user_that_was_removed_is_withheld_also_after_a_restart(
    tmp_path: Path,
) -> None:
    async with running(tmp_path) as broker:
        await with_messages(broker)
        ben = await broker.log_in("ben", "w", will=Will("shared/w", b"wil", 1, retain=True))
        ben.abort()
        retained = broker.running.event_loop.broker.state.retained
        await eventually(lambda: "shared/w" in retained)
        assert await seen_by_anna(broker, "1") == [b"ann", b"ben", b"wil"]
        remove_user(broker.users, "ben")
        broker.running.reloading.reload()
        assert await seen_by_anna(broker, "2") == [b"ann"]
    async with running(tmp_path) as broker:
        remove_user(broker.users, "ben")
        broker.running.reloading.reload()
        assert await seen_by_anna(broker, "3") == [b"ann"]


async def test_a_message_of_an_anonymous_client_needs_the_right_of_anonymous_clients_today(
    tmp_path: Path,
) -> None:
    allowed = "allow anonymous publish shared/#\n" + RULES
    async with running(tmp_path, anonymous=True) as broker:
        broker.rules.write_text(allowed)
        broker.running.reloading.reload()
        await retain(await broker.log_in(None, "x"), "shared/x", b"ano")
        will = Will("shared/y", b"wil", 1, retain=True)
        (await broker.log_in(None, "y", will=will)).abort()
        retained = broker.running.event_loop.broker.state.retained
        await eventually(lambda: "shared/y" in retained)
        assert await seen_by_anna(broker, "1") == [b"ano", b"wil"]
        broker.rules.write_text(RULES)
        broker.running.reloading.reload()
        assert await seen_by_anna(broker, "2") == []
    async with running(tmp_path) as broker:
        assert await seen_by_anna(broker, "3") == []
        broker.rules.write_text(allowed)
        broker.running.reloading.reload()
        assert await seen_by_anna(broker, "4") == [b"ano", b"wil"]
