"""Fixtures of the system tests for the foreign clients, with a broker that speaks WebSocket."""

from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio

from tests.contract.mqtt_client.cast import Cast, Kind, casts_of
from tests.contract.mqtt_client.gmqtt_client import new_gmqtt_client
from tests.contract.mqtt_client.mqttjs_client import MqttJsProgram, mqttjs_program
from tests.contract.mqtt_client.paho_client import new_paho_client
from tests.system.broker_process import BrokerProcess, free_port
from tests.system.fixtures import new_stage, pytest_runtest_makereport, running_broker, stage
from tests.system.stage import Stage

__all__ = [
    "new_gmqtt_client",
    "new_paho_client",
    "new_stage",
    "pytest_runtest_makereport",
    "stage",
]


def websocket_listener(port: int) -> str:
    """Return the configuration of a listener for WebSocket."""
    return f'[[listeners]]\nbind = "127.0.0.1"\nport = {port}\nprotocol = "websocket"'


@pytest.fixture(scope="session")
def websocket_port() -> int:
    """Return the port of the shared broker's WebSocket listener."""
    return free_port()


@pytest.fixture(scope="session")
def shared_broker(websocket_port: int) -> Iterator[BrokerProcess]:
    """Yield one broker for all tests that neither stop nor configure it."""
    with running_broker(listener_settings=websocket_listener(websocket_port)) as broker:
        yield broker


@pytest_asyncio.fixture
async def mqttjs() -> AsyncIterator[MqttJsProgram]:
    """Yield a Node.js process for the MQTT.js clients of one test."""
    async with mqttjs_program() as program:
        yield program


@pytest_asyncio.fixture
async def cast(kind: Kind, stage: Stage, websocket_port: int) -> AsyncIterator[Cast]:
    """Yield a cast of the kind that the test is parametrized with, and stop its clients."""
    async with casts_of([kind], stage, websocket_port) as [cast]:
        yield cast
