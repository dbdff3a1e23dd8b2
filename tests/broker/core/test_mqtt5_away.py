"""The 3 by 3 table of QoS for a session whose client is away, across every kind of restart."""

from pathlib import Path

import pytest

from gateway.broker.core.limits import Limits
from gateway.broker.wire.packets import Pubrel
from tests.broker.core.harness import Harness, publishes
from tests.broker.core.mqtt5 import connect, publish, subscriber

TABLE = [(sent, granted) for sent in range(3) for granted in range(3)]


def leave(harness: Harness, how: str) -> None:
    """Restart the broker in one of several ways, or not, while the clients are away."""
    if how in ("checkpoint", "cut after a checkpoint"):
        harness.checkpoint()
    if how in ("cut", "cut after a checkpoint"):
        harness.cut()
    if how == "restart":
        harness.restart()


@pytest.mark.statement("MQTT5-3.8.4-8", "MQTT5-4.1.0-1", "MQTT5-4.5.0-1", "MQTT5-4.3.1-1")
@pytest.mark.parametrize("version", [3, 4, 5])
@pytest.mark.parametrize("keeps_qos_0", [False, True])
@pytest.mark.parametrize("how", ["lost", "checkpoint", "cut", "cut after a checkpoint", "restart"])
def test_what_waits_for_a_session_has_the_smaller_qos_and_qos_0_waits_if_it_is_kept(
    tmp_path: Path, how: str, keeps_qos_0: bool, version: int
) -> None:
    limits = Limits()
    limits.mqueue_store_qos0 = keeps_qos_0
    harness = Harness(tmp_path, limits)
    for sent, granted in TABLE:
        harness.lose(subscriber(harness, f"c{sent}{granted}", f"t/{sent}", granted))
    harness.commit()
    publisher = connect(harness, "p")
    for sent in range(3):
        publish(harness, publisher, f"t/{sent}", b"%d" % sent, sent)
    publisher.send(Pubrel(2))
    harness.commit()
    leave(harness, how)
    for sent, granted in TABLE:
        client = harness.connect(f"c{sent}{granted}", version=version)
        qos = min(sent, granted)
        expected = [(f"t/{sent}", b"%d" % sent, qos, False)] if qos or keeps_qos_0 else []
        got = publishes(client.take())
        assert [
            (packet.topic, packet.payload, packet.qos, packet.dup) for packet in got
        ] == expected, (sent, granted)
        assert harness.session(f"c{sent}{granted}").queued_count == 0
    harness.close()
