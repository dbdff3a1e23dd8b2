"""Ports at a TCP address, behind Debian's ser2net, and servers that are not serial servers."""

import asyncio
import contextlib
from pathlib import Path

import pytest
from firmware_bridge.serial import network
from firmware_bridge.serial.link import PortLost
from firmware_bridge.serial.network import open_address

from gateway.process.declarations.serial_line import Line
from tests.bridge.broker import DEADLINE_SECONDS, Subscriber
from tests.bridge.running import port_of, running_bridge, settings_of
from tests.bridge.serial.serial_server import ser2net
from tests.bridge.terminal import Terminal
from tests.system.broker_process import free_port


@pytest.mark.parametrize("scheme", ["tcp", "rfc2217"])
async def test_a_port_of_ser2net_is_a_port_and_comes_back_after_a_kill(
    scheme: str,
    terminal: Terminal,
    subscriber: Subscriber,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(network, "NETWORK_MID_LINE_SECONDS", 0.0)
    address = f"{scheme}://127.0.0.1:{(number := free_port())}"
    port = port_of("sensor", Path("unused"), "json", address=address)
    async with running_bridge(settings_of(tmp_path / "data", subscriber.port, port)) as room:
        for start in (1, 2):
            async with ser2net(tmp_path, scheme, number, terminal.link):
                await room.wait_for_port("sensor", "open")
                await terminal.write(b'\n{"a":%d}\n' % start)
                await subscriber.arrival_of(start)
            await room.wait_for_port("sensor", "lost")
    assert [record["v"] for record in subscriber.records()] == [1, 2]


async def test_bytes_pass_both_ways_through_rfc_2217_as_they_are(
    terminal: Terminal, tmp_path: Path
) -> None:
    every_byte = bytes(range(256))
    number = free_port()
    async with (
        asyncio.timeout(DEADLINE_SECONDS),
        ser2net(tmp_path, "rfc2217", number, terminal.link),
    ):
        while True:
            with contextlib.suppress(PortLost):
                link = await open_address(
                    f"rfc2217://127.0.0.1:{number}", Line(9600, 8, "N", 2), "none"
                )
                break
            await asyncio.sleep(0.02)
        assert link.write(every_byte)
        received = b""
        while len(received) < 256:
            received += await terminal.read()
        assert received == every_byte
        await terminal.write(every_byte)
        received = b""
        while len(received) < 256:
            received += await link.read()
        assert received == every_byte
        link.close()


@pytest.mark.parametrize(
    ("scheme", "answer", "sentence"),
    [
        ("tcp", None, "Connect call failed|refused"),
        ("rfc2217", b"", "no answer within 0.2 s; does it speak RFC 2217"),
        ("rfc2217", b"HTTP/1.1 400 Bad Request\r\n" * 1000, "no answer|closed"),
        ("rfc2217", bytes((255, 254, 44)), "refuses RFC 2217; for a raw connection use tcp://"),
    ],
)
async def test_a_server_that_is_none_is_named_in_a_sentence(
    scheme: str, answer: bytes | None, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The timeout is short where it has to expire. A refusal may take longer on a busy machine.
    monkeypatch.setattr(network, "OPEN_SECONDS_MAX", 0.2 if "no answer" in sentence else 10.0)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer or b"")
        await reader.read()
        writer.close()

    port = free_port()
    async with contextlib.AsyncExitStack() as stack:
        if answer is not None:
            await stack.enter_async_context(await asyncio.start_server(serve, "127.0.0.1", port))
        with pytest.raises(PortLost, match=sentence):
            await open_address(f"{scheme}://127.0.0.1:{port}", Line(), "none")


async def test_a_server_that_closes_ends_the_port() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"a=1\n")
        writer.close()

    port = free_port()
    async with await asyncio.start_server(serve, "127.0.0.1", port):
        link = await open_address(f"tcp://127.0.0.1:{port}", Line(), "none")
        assert await link.read() == b"a=1\n"
        with pytest.raises(PortLost, match="closed the connection"):
            await link.read()
        link.close()
