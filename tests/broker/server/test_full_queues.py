"""A publisher that is faster than a queue which refuses: the publisher waits, nothing is lost."""

from contextlib import asynccontextmanager
from pathlib import Path

from tests.broker.server.broker import log_in, protocols_of, running
from tests.peers.mqtt_bytes import Kind, acknowledgement, publish, subscribe

REFUSING = [{"client": "s", "when_full": "refuse"}]
COUNT = 500


async def test_its_socket_is_not_read_until_the_subscriber_has_made_room(tmp_path: Path) -> None:
    broken = asynccontextmanager(running)(tmp_path, [{}], {"max_mqueue_len": 100}, queues=REFUSING)
    async with broken as broker:
        subscriber = await log_in(broker, "s")
        subscriber.send(subscribe(1, ("t", 1)))
        await subscriber.packet()
        subscriber.abort()
        publisher = await log_in(broker, "p", clean=True)
        for number in range(1, COUNT + 1):
            publisher.send(publish("t", b"%04d" % number * 256, qos=1, packet_id=number))
        for _ in range(100):
            await publisher.packet()
        channel = protocols_of(broker)["p"]
        await broker.eventually(lambda: not channel.transport.is_reading())
        assert broker.status()["sessions"]["connected"] == 1
        subscriber = await log_in(broker, "s")
        for number in range(1, COUNT + 1):
            message = await subscriber.packet()
            assert b"%04d" % number * 256 in message
            packet_id = int.from_bytes(message[6:8], "big")
            subscriber.send(acknowledgement(Kind.PUBACK, packet_id))
        for _ in range(100, COUNT):
            await publisher.packet()
        assert channel.transport.is_reading()
        assert broker.status()["messages"]["dropped"] == {}
