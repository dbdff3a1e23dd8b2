"""gmqtt for a session whose state is stored elsewhere.

The critical places are tested in tests/bridge.
"""

import asyncio
import ssl
from pathlib import Path

import pytest
from gmqtt.mqtt.handler import MQTTConnectError  # type: ignore[import-untyped]

from gateway.process.mqtt_client.client import SessionClient, close, connect, sentence_of, target_of
from gateway.process.mqtt_client.tls import TlsFiles


def test_gmqtts_own_publish_and_reconnect_are_out_of_reach() -> None:
    client = SessionClient("c")
    with pytest.raises(NotImplementedError, match="store"):
        client.publish("topic", b"")


async def test_a_peer_that_closes_before_connack_is_no_connection() -> None:
    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    client, lost = SessionClient("c"), asyncio.Event()
    client.on_disconnect = lambda *_: lost.set()
    try:
        with pytest.raises(ConnectionResetError, match="before CONNACK"):
            await connect(client, lost, host="127.0.0.1", port=port)
    finally:
        await close(client)
        server.close()


def test_each_failure_has_a_sentence_and_a_refusal_its_fix() -> None:
    assert "15 s" in sentence_of(TimeoutError(), fix="x")
    assert sentence_of(MQTTConnectError(5), fix="[a] username").endswith("check [a] username")
    assert sentence_of(ConnectionResetError("gone"), fix="x") == "gone"
    assert sentence_of(ConnectionResetError(), fix="x") == "ConnectionResetError"


def test_a_target_has_tls_where_there_are_files_for_it() -> None:
    assert target_of("h", 1, None, 5)["ssl"] is False
    assert isinstance(target_of("h", 1, TlsFiles(), 5)["ssl"], ssl.SSLContext)
    with pytest.raises(OSError, match="missing"):
        target_of("h", 1, TlsFiles(ca=Path("missing")), 5)
