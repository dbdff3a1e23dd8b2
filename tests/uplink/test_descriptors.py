"""An uplink that cannot open another file waits, and continues as soon as it can."""

import resource
from collections.abc import Iterator

import pytest

from tests.peers.byte_client import ByteClient
from tests.system.broker_process import BrokerProcess
from tests.uplink.processes import UplinkProcess

NONE_LEFT, ENOUGH = 4, 256


@pytest.fixture
def brokers() -> Iterator[tuple[BrokerProcess, BrokerProcess]]:
    """Run this machine's broker and an upstream broker."""
    pair = BrokerProcess(""), BrokerProcess("")
    try:
        for each in pair:
            each.start()
        yield pair
    finally:
        for each in pair:
            each.remove()


async def test_an_uplink_without_descriptors_waits_and_then_carries_what_came(
    brokers: tuple[BrokerProcess, BrokerProcess],
) -> None:
    local, remote = brokers
    uplink = UplinkProcess(local, remote.port, '[[uplink.topics]]\nfilter = "a/#"')
    try:
        uplink.start()
        await uplink.connected()
        resource.prlimit(uplink.process_id, resource.RLIMIT_NOFILE, (NONE_LEFT, ENOUGH))
        remote.kill()
        remote.start()
        await uplink.logged("Too many open files")
        async with await ByteClient.open(remote.port) as watcher:
            await watcher.connect("watcher", keep_alive_seconds=0)
            await watcher.subscribe(("a/#", 1))
            async with await ByteClient.open(local.port) as sensor:
                await sensor.connect("sensor", keep_alive_seconds=0)
                await sensor.deliver("a/b", b"reading", qos=1)
            resource.prlimit(uplink.process_id, resource.RLIMIT_NOFILE, (ENOUGH, ENOUGH))
            assert await watcher.take_payloads_until(b"reading") == []
        assert uplink.stop() == 0
        assert "[Errno" not in uplink.log()
    finally:
        uplink.kill()
