"""A hook in a broker that runs as a process of its own."""

import asyncio
import json
import socket

import pytest

from gateway.broker.wire.packets import Publish
from tests.peers.connection import DEADLINE_SECONDS
from tests.peers.packet_client import PacketClient
from tests.system.broker_process import START_DEADLINE_SECONDS, BrokerProcess

NAME = "hook_of_this_test"
SENDING = """
import json, os, socket
from gateway.hooks import Connected, Observer, Published

class Watch(Observer):
    def __init__(self) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)

    def published(self, event: Published) -> None:
        text = json.dumps([event.client_id, event.topic, event.payload.decode(), event.qos])
        self.socket.sendto(text.encode(), os.environ["HOOK_SOCKET"])

observer = Watch()
"""


@pytest.mark.slow
async def test_a_process_finds_its_hook_by_pythonpath() -> None:
    broker = BrokerProcess(f'[hooks]\nmodule = "{NAME}"')
    (broker.directory / f"{NAME}.py").write_text(SENDING)
    address = str(broker.directory / "hook")
    environment = {"PYTHONPATH": str(broker.directory), "HOOK_SOCKET": address}
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear, broker.notify_socket() as ready:
        ear.bind(address)
        ear.settimeout(DEADLINE_SECONDS)
        ready.settimeout(START_DEADLINE_SECONDS)
        try:
            broker.spawn(environment | {"NOTIFY_SOCKET": str(ready.getsockname())})
            while b"READY=1" not in await asyncio.to_thread(ready.recv, 4096):
                assert broker.is_running, broker.standard_error()
            async with await PacketClient.open(broker.port) as client:
                client.connect(None, method=None, client_id="c")
                client.send(Publish("t", b"21", 1, False, False, 1))
                heard = json.loads(await asyncio.to_thread(ear.recv, 4096))
            assert heard == ["c", "t", "21", 1]
            assert broker.ask("status")["hooks"]["problem"] is None
            assert broker.stop() == 0
        finally:
            broker.remove()
