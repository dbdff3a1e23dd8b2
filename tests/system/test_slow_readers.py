"""A subscriber that does not read takes a limited amount of memory and delays no other client."""

from collections.abc import Callable

from tests.peers.mqtt_bytes import Kind
from tests.system.stage import Stage

PAYLOAD = bytes(16_384)


async def test_a_reader_that_stops_does_not_hold_up_qos_0_for_others(
    new_stage: Callable[..., Stage],
) -> None:
    stage = new_stage()
    slow = await stage.client("slow", receive_buffer_bytes=4096)
    await slow.subscribe((stage.topic("x"), 0))
    swift = await stage.client("swift")
    await swift.subscribe((stage.topic("x"), 0))
    publisher = await stage.client("publisher")
    before = stage.broker.resident_bytes()
    # 48 MB that the slow client does not read, in rounds, so that the fast client never falls
    # behind.
    for _ in range(60):
        for _ in range(50):
            await publisher.publish(stage.topic("x"), PAYLOAD)
        for _ in range(50):
            assert len((await swift.expect(Kind.PUBLISH)).payload) == len(PAYLOAD)
    assert stage.broker.resident_bytes() - before < 24_000_000
    # Dropped messages are counted: every message that the slow client did not receive.
    session = await stage.session("slow")
    assert session["dropped_messages"] > 0
    assert session["dropped_messages"] + session["delivered_messages"] == 3000


async def test_qos_1_for_a_reader_that_stops_waits_and_arrives_when_it_comes_back(
    new_stage: Callable[..., Stage],
) -> None:
    stage = new_stage("[mqtt]\nmax_inflight = 100")
    slow = await stage.client("slow", clean=False, receive_buffer_bytes=4096)
    await slow.subscribe((stage.topic("x"), 1))
    swift = await stage.client("swift")
    await swift.subscribe((stage.topic("x"), 1))
    publisher = await stage.client("publisher")
    numbers = [b"%04d" % number for number in range(400)]
    for number in numbers:
        await publisher.deliver(stage.topic("x"), number + PAYLOAD, qos=1)
        assert (await swift.take()).payload[:4] == number
    slow.cut()
    slow = await stage.client("slow", clean=False)
    assert [(await slow.take()).payload[:4] for _ in numbers] == numbers


async def test_a_publisher_that_never_reads_its_acknowledgements_is_held_back_alone(
    new_stage: Callable[..., Stage],
) -> None:
    stage = new_stage()
    greedy = await stage.client("greedy", receive_buffer_bytes=4096)
    calm = await stage.client("calm")
    await calm.subscribe((stage.topic("x"), 1))
    before = stage.broker.resident_bytes()
    for _ in range(40_000):
        await greedy.publish(stage.topic("nobody listens"), b"", qos=1)
    await stage.deliver(stage.topic("x"), b"fine", qos=1)
    assert (await calm.take()).payload == b"fine"
    assert stage.broker.resident_bytes() - before < 24_000_000
