"""Home Assistant finds a bridge's devices at a broker, and removes those that no longer exist."""

import asyncio
import json
import subprocess
from contextlib import AbstractAsyncContextManager, ExitStack
from pathlib import Path
from typing import Any

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion

from tests.bridge.board import board_frame
from tests.bridge.broker import DEADLINE_SECONDS, Mosquitto
from tests.bridge.firmware.bridge_process import BridgeProcess
from tests.bridge.running import ControlRoom, port_on, running_bridge, settings_of
from tests.bridge.terminal import Terminal
from tests.peers.paho_thread import disconnect
from tests.system.broker_process import BrokerProcess

PREFIX = "homeassistant"
STATES = "sensors/state"
BOARD = "board-0000002a"


class HomeAssistant:
    """A client that subscribes like Home Assistant.

    `configs` has the latest description at each topic, and `available` the latest state at each
    topic.
    """

    def __init__(self, port: int) -> None:
        self.configs: dict[str, bytes] = {}
        self.available: dict[str, bytes] = {}
        self.count = 0
        self._news = asyncio.Condition()
        self._loop = asyncio.get_running_loop()
        self._client = paho.Client(CallbackAPIVersion.VERSION2, "home-assistant")
        self._client.on_message = lambda _, __, message: self._receive(message)
        self._client.on_connect = lambda client, *_: client.subscribe(
            [(f"{PREFIX}/device/#", 1), (f"{STATES}/#", 1)]
        )
        self._client.connect("127.0.0.1", port)
        self._client.loop_start()

    def close(self) -> None:
        disconnect(self._client)

    def start(self) -> None:
        """Announce the start of Home Assistant, as Home Assistant does."""
        self._client.publish(f"{PREFIX}/status", "online")

    async def wait_until(self, condition: Any) -> None:
        async with asyncio.timeout(DEADLINE_SECONDS), self._news:
            await self._news.wait_for(condition)

    def shown(self) -> list[set[str]]:
        """Return the names of the values of each device, without removed values and without the
        gateway's own device."""
        return [
            {name for name, each in found["cmps"].items() if each.keys() != {"p"}}
            for found in map(json.loads, self.configs.values())
            if found["dev"].get("mdl") != "Edge gateway"
        ]

    def only(self) -> dict[str, Any]:
        (config,) = self.configs.values()
        found: dict[str, Any] = json.loads(config)
        return found

    def _receive(self, message: paho.MQTTMessage) -> None:
        asyncio.run_coroutine_threadsafe(
            self._take(message.topic, bytes(message.payload)), self._loop
        )

    async def _take(self, topic: str, payload: bytes) -> None:
        async with self._news:
            if topic.startswith(STATES):
                self.available[topic] = payload
                self._news.notify_all()
                return
            self.count += 1
            self.configs[topic] = payload
            if not payload:
                del self.configs[topic]
            self._news.notify_all()


def retained(port: int) -> list[str]:
    """Return the topics under the prefix for which the broker retains a message."""
    command = ["mosquitto_sub", "-p", str(port), "-t", f"{PREFIX}/#", "-F", "%t", "-W", "1"]
    return subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()


async def test_a_device_is_described_once_it_sends_and_again_when_home_assistant_starts(
    mosquitto: Mosquitto, terminal: Terminal, tmp_path: Path
) -> None:
    settings = settings_of(
        tmp_path / "data",
        mosquitto.port,
        port_on(terminal, "board", device_silent_seconds=60.0),
        availability_topic=STATES,
        gateway_id="cellar",
        home_assistant_prefix=PREFIX,
    )
    home = HomeAssistant(mosquitto.port)
    async with running_bridge(settings) as room:
        await room.wait_for_port("sensor", "open")
        await terminal.write(board_frame(1))
        await home.wait_until(lambda: home.count == 1)
        config = home.only()
        assert config["cmps"].keys() == {"temperature"}
        assert config["cmps"]["temperature"]["uniq_id"] == f"cellar/{BOARD}/temperature"
        assert config["avty"] == [
            {"t": "sensors/state"},
            {"t": "sensors/state/sensor"},
            {"t": f"sensors/state/sensor/{BOARD}"},
        ]
        home.start()
        await home.wait_until(lambda: home.count == 2)
        assert home.only() == config
    # At the next start the bridge describes the device before the device has sent anything.
    async with running_bridge(settings):
        await home.wait_until(lambda: home.count == 3)
        assert home.only() == config
    home.close()


async def test_a_number_stays_a_number_over_a_restart(
    mosquitto: Mosquitto, terminal: Terminal, tmp_path: Path
) -> None:
    settings = settings_of(
        tmp_path / "data",
        mosquitto.port,
        port_on(terminal, "csv", columns=("temperature", "door")),
        gateway_id="cellar",
        home_assistant_prefix=PREFIX,
    )
    home = HomeAssistant(mosquitto.port)
    async with running_bridge(settings) as room:
        await room.wait_for_port("sensor", "open")
        await terminal.write(b"21.5,true\n")
        await home.wait_until(lambda: home.count == 1)
    async with running_bridge(settings) as room:
        await room.wait_for_port("sensor", "open")
        # Without the stored kinds, the first line after the start would decide them.
        await terminal.write(b"sensor error,7\n")
        await terminal.write(b"22.5,false\n")
        await room.wait_until(lambda room: room.port("sensor")["frames"] == 1)
        assert room.port("sensor")["damaged"] == {"type": 1}
        (device,) = room.port("sensor")["devices"]
        assert {each["name"]: each["value"] for each in device["quantities"]} == {
            "temperature": 22.5, "door": False,
        }  # fmt: skip
    home.close()


async def test_a_device_whose_port_or_prefix_is_gone_is_removed(
    mosquitto: Mosquitto, terminal: Terminal, tmp_path: Path
) -> None:
    data = tmp_path / "data"
    port = port_on(terminal, "board")
    of_home_assistant = {"gateway_id": "cellar", "home_assistant_prefix": PREFIX}
    described = settings_of(data, mosquitto.port, port, **of_home_assistant)
    without_port = settings_of(data, mosquitto.port, **of_home_assistant)
    without_prefix = settings_of(data, mosquitto.port, port)
    home = HomeAssistant(mosquitto.port)
    for sequence, later in enumerate((without_port, without_prefix), 1):
        async with running_bridge(described) as room:
            await room.wait_for_port("sensor", "open")
            await terminal.write(board_frame(sequence))
            await home.wait_until(lambda: home.configs)
        async with running_bridge(later):
            await home.wait_until(lambda: not home.configs)
    home.close()
    assert await asyncio.to_thread(retained, mosquitto.port) == []


async def test_a_value_or_a_device_that_the_configuration_has_no_more_is_removed(
    mosquitto: Mosquitto, terminal: Terminal, tmp_path: Path
) -> None:
    def bridge(*columns: str, device: str = "boiler") -> AbstractAsyncContextManager[ControlRoom]:
        return running_bridge(
            settings_of(
                tmp_path / "data",
                mosquitto.port,
                port_on(terminal, "csv", columns=columns, device=device),
                gateway_id="cellar",
                home_assistant_prefix=PREFIX,
            )
        )

    home = HomeAssistant(mosquitto.port)
    async with bridge("flow", "is_on", "level") as room:
        await room.wait_for_port("sensor", "open")
        await terminal.write(b"1,true,2\n1,true,2\n")
        await home.wait_until(lambda: home.configs)
        before = home.only()["cmps"]
        assert before.keys() == {"flow", "is_on", "level"}
    # Home Assistant removes a component that has only its platform.
    async with bridge("flow") as room:
        gone = {"is_on": {"p": "binary_sensor"}, "level": {"p": "sensor"}}
        await home.wait_until(lambda: home.only()["cmps"] == {"flow": before["flow"], **gone})
        # Home Assistant may have been away, so its next start receives the same description.
        count = home.count
        home.start()
        await home.wait_until(lambda: home.count > count)
        assert home.only()["cmps"].keys() == before.keys()
    async with bridge("level") as room:
        gone = {"is_on": {"p": "binary_sensor"}, "flow": {"p": "sensor"}}
        await home.wait_until(lambda: home.only()["cmps"] == {"level": before["level"], **gone})
    async with bridge("level", device="burner"):
        await home.wait_until(lambda: not home.configs)
    home.close()
    assert await asyncio.to_thread(retained, mosquitto.port) == []


def end(bridge: BridgeProcess) -> None:
    if bridge.is_running:
        bridge.kill()


async def test_at_the_gateway_s_own_broker_a_killed_bridge_is_away_and_what_is_gone_is_removed(
    terminal: Terminal, tmp_path: Path
) -> None:
    tables = (
        f'home_assistant_prefix = "{PREFIX}"\navailability_topic = "{STATES}"\n'
        f'[[serial]]\nname = "boiler"\npath = "{terminal.link}"\nframing = "csv"\n'
    )
    broker = BrokerProcess()
    with ExitStack() as at_the_end:
        at_the_end.callback(broker.remove)
        await asyncio.to_thread(broker.start)
        home = HomeAssistant(broker.port)
        at_the_end.callback(home.close)

        async def started(table: str) -> BridgeProcess:
            bridge = BridgeProcess(tmp_path, broker.port, table)
            at_the_end.callback(end, bridge)
            await asyncio.to_thread(bridge.start)
            await home.wait_until(lambda: home.available.get(STATES) == b"online")
            return bridge

        for columns, line, described in (
            ('["flow", "level"]', b"1,2\n1,2\n", {"flow", "level"}),
            ('["flow"]', b"1\n1\n", {"flow"}),
        ):
            bridge = await started(f"{tables}columns = {columns}\n")
            await home.wait_until(lambda: home.available.get(f"{STATES}/boiler") == b"online")
            await terminal.write(line)
            await home.wait_until(lambda: home.shown() == [described])  # noqa: B023
            # The broker publishes the bridge's will.
            bridge.kill()
            await home.wait_until(lambda: home.available[STATES] == b"offline")
        await started(tables.replace("boiler", "burner") + 'columns = ["flow"]\n')
        await home.wait_until(lambda: home.shown() == [])
        assert await asyncio.to_thread(retained, broker.port) == [*home.configs]


async def test_the_gateway_itself_is_described_with_what_is_wrong_with_it(
    mosquitto: Mosquitto, terminal: Terminal, tmp_path: Path
) -> None:
    problem_topic = f"{STATES}/problem"
    settings = settings_of(
        tmp_path / "data",
        mosquitto.port,
        port_on(terminal, "json"),
        availability_topic=STATES,
        gateway_id="cellar",
        home_assistant_prefix=PREFIX,
        problem_topic=problem_topic,
        page_url="http://cellar.local:8080/",
    )

    def reasons() -> list[str] | None:
        payload = home.available.get(problem_topic)
        found: list[str] | None = None if payload is None else json.loads(payload)["reasons"]
        return found

    home = HomeAssistant(mosquitto.port)
    async with running_bridge(settings) as room:
        await room.wait_for_port("sensor", "open")
        await home.wait_until(lambda: home.count == 1 and reasons() == [])
        config = home.only()
        assert config["dev"]["cu"] == "http://cellar.local:8080/"
        assert config["cmps"]["problem"]["stat_t"] == problem_topic
        terminal.unplug()
        await home.wait_until(lambda: bool(reasons()))
        assert (reasons() or [""])[0].startswith("serial port sensor is not open: ")
        terminal.plug_in()
        await home.wait_until(lambda: reasons() == [])
    home.close()
