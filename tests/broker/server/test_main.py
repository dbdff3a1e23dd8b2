"""The life of a broker process: it serves, ends after an error, or stops when asked to."""

import asyncio
import dataclasses
import socket
from pathlib import Path

import pytest

from gateway.broker.server.commit.faults import StoreFailed
from gateway.broker.server.main import serve
from gateway.configuration import Configuration
from gateway.configuration.listener import Listener
from gateway.configuration.sections import Gateway

DEADLINE_SECONDS = 60


async def _serve_with_a_mistake(configuration: Configuration) -> None:
    loop = asyncio.get_running_loop()

    def mistake() -> None:
        raise AssertionError("PUBREL 17 while there is no session 17")

    def ready() -> None:
        loop.call_soon(mistake)

    async with asyncio.timeout(DEADLINE_SECONDS):
        await serve(configuration, asyncio.Event(), ready)


def test_a_mistake_of_our_own_ends_the_process_and_does_not_count_as_a_clean_stop(
    tmp_path: Path,
) -> None:
    configuration = Configuration(gateway=Gateway(data_dir=tmp_path), listeners=(Listener(port=0),))
    with pytest.raises(StoreFailed, match="no session 17"):
        asyncio.run(_serve_with_a_mistake(configuration))
    assert (tmp_path / "broker.running").exists()


def test_a_broker_that_is_asked_to_stop_stops_cleanly(tmp_path: Path) -> None:
    configuration = Configuration(gateway=Gateway(data_dir=tmp_path), listeners=(Listener(port=0),))
    stop = asyncio.Event()
    asyncio.run(serve(configuration, stop, stop.set))
    assert not (tmp_path / "broker.running").exists()
    assert not (tmp_path / "control.sock").exists()


async def _serve_twice_at_one_port(configuration: Configuration) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        listener = Listener(bind="127.0.0.1", port=taken.getsockname()[1])
        with pytest.raises(OSError, match="Address already in use"):
            await serve(dataclasses.replace(configuration, listeners=(listener,)), asyncio.Event())


def test_an_address_that_is_taken_ends_the_start_and_leaves_the_data_clean(tmp_path: Path) -> None:
    configuration = Configuration(gateway=Gateway(data_dir=tmp_path), listeners=(Listener(port=0),))
    asyncio.run(_serve_twice_at_one_port(configuration))
    assert not (tmp_path / "broker.running").exists()
