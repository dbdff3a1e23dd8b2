"""Ports are added, changed and removed while the other ports are read."""

from functools import partial
from pathlib import Path
from typing import Any

from tests.bridge.broker import Mosquitto, Subscriber
from tests.bridge.terminal import Terminal
from tests.bridge.test_sensor_requests import bridge_of, files_of, line_of


async def test_a_sensor_is_added_and_removed_while_another_is_read(
    mosquitto: Mosquitto, tmp_path: Path
) -> None:
    first, second = Terminal(tmp_path / "first"), Terminal(tmp_path / "second")
    table = {"path": str(second.link), "framing": "json"}
    text = f'[[serial]]\nname = "first"\npath = "{first.link}"\nframing = "json"\n'
    async with bridge_of(tmp_path, mosquitto.port, files_of(tmp_path, text)) as broker:
        await broker.wait_for_port("first", "open")
        added = await broker.ask("serial_save", name="second", table=table)
        assert added["result"] == {"sensors": ["first", "second"]}
        await broker.wait_for_port("second", "open")
        await first.write(line_of(1))
        await second.write(line_of(2))
        await broker.wait_until(lambda room: room.port("second").get("readings") == 1)
        listed = (await broker.ask("serial_ports"))["result"]
        assert [each["name"] for each in listed["sensors"]] == ["first", "second"]
        assert [each["can_change"] for each in listed["sensors"]] == [False, True]
        assert "nmea" in listed["protocols"]
        version = (await broker.ask("serial_port", name="second"))["result"]["version"]
        removed = await broker.ask("serial_remove", name="second", version=version)
        assert removed["result"] == {"sensors": ["first"]}
        await broker.wait_until(lambda room: not room.port("second"))
        # The other port was neither closed nor reopened.
        assert (broker.port("first")["reopened"], broker.port("first")["readings"]) == (0, 1)
        undone = await broker.ask("serial_undo", name="second")
        assert undone["result"] == {"sensors": ["first", "second"]}
        await broker.wait_for_port("second", "open")
    for terminal in (first, second):
        terminal.unplug()


async def test_a_changed_sensor_is_opened_again_with_its_new_settings(
    mosquitto: Mosquitto, tmp_path: Path
) -> None:
    terminal = Terminal(tmp_path / "port")
    table: dict[str, Any] = {"path": str(terminal.link), "framing": "json"}
    async with bridge_of(tmp_path, mosquitto.port, files_of(tmp_path)) as broker:
        await broker.ask("serial_save", name="boiler", table=table)
        await broker.wait_for_port("boiler", "open")
        version = (await broker.ask("serial_port", name="boiler"))["result"]["version"]
        table["units"] = {"temperature": "Cel"}
        await broker.ask("serial_save", name="boiler", table=table, version=version)
        # A line that is sent while the port is closed is lost.
        while not broker.port("boiler").get("readings"):
            await terminal.write(line_of(21))
            await broker.ask("serial_ports")
        await broker.wait_until(lambda room: bool(room.port("boiler")["devices"]))
        (quantity,) = broker.port("boiler")["devices"][0]["quantities"]
        assert (quantity["value"], quantity["unit"]) == (21, "Cel")
    terminal.unplug()


async def test_home_assistant_loses_the_devices_of_a_removed_port(
    mosquitto: Mosquitto, subscriber: Subscriber, tmp_path: Path
) -> None:
    terminal = Terminal(tmp_path / "port")
    table = {"path": str(terminal.link), "framing": "json"}
    # Below the topics that the subscriber receives.
    described = {"home_assistant_prefix": "sensors", "gateway_id": "g"}
    files = files_of(tmp_path)
    async with bridge_of(tmp_path, mosquitto.port, files, **described) as broker:
        for name in ("first", "second"):
            saved = await broker.ask("serial_save", name=name, table=table)
            assert saved["ok"], saved
            await broker.wait_for_port(name, "open")
            await terminal.write(line_of(21))
            await subscriber.wait_until(partial(_is_described, subscriber, name))
            version = (await broker.ask("serial_port", name=name))["result"]["version"]
            await broker.ask("serial_remove", name=name, version=version)
            await subscriber.wait_until(partial(_is_removed, subscriber, name))
    terminal.unplug()


def _is_described(subscriber: Subscriber, device: str) -> bool:
    return bool(_configs(subscriber, device)[-1:])


def _is_removed(subscriber: Subscriber, device: str) -> bool:
    return _configs(subscriber, device)[-1] == b""


def _configs(subscriber: Subscriber, device: str) -> list[bytes]:
    return [
        payload
        for topic, payload in subscriber.messages
        if topic.startswith("sensors/device/") and device in topic
    ]
