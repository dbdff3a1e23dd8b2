"""A short story of a few clients, and the events that the journal records for the story."""

from gateway.broker.core.records.events import Event, decode
from gateway.broker.core.records.kinds import Observation
from gateway.broker.wire.packets import Publish, Pubrec, Pubrel, Unsubscribe, Will
from tests.broker.core.harness import Harness


def events_of(harness: Harness) -> list[Event]:
    return [event for blob in harness.blobs for event in decode(blob).events]


def record_a_life(harness: Harness) -> None:
    harness.lose(harness.subscriber("s", "sensors/+", 2))
    publisher = harness.connect("p", will=Will("w", b"", 1, True), keep_alive_seconds=30)
    publish = Publish("sensors/x", b"21.5", 2, True, False, 5)
    publisher.send(publish, publish, Pubrel(5))
    harness.commit()
    subscriber = harness.connect("s")
    subscriber.send(Pubrec(1), Unsubscribe(2, ["sensors/+"]))
    publisher.send_bytes(b"\xe0\x00")
    harness.broker.observe(None, Observation.SERIAL_PORT_LOST, "gps", "unplugged")
    harness.commit()
