"""Operators' requests reach a running bridge, while its other ports are read."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from firmware_bridge import main
from firmware_bridge.mqtt import publisher
from firmware_bridge.sensor_requests import SensorFiles, requests_in

from gateway.cli.services.sensor_files import ConfigurationSource
from tests.bridge.broker import DEADLINE_SECONDS, Mosquitto, Subscriber
from tests.bridge.running import ControlRoom, settings_of
from tests.bridge.terminal import Terminal
from tests.peers.control_server import result


class Broker(ControlRoom):
    """A control socket server that passes requests from a test to the bridge."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._number = 0
        self._due: list[dict[str, Any]] = []
        self.answers: dict[int, dict[str, Any]] = {}
        self.alarms: dict[str, Any] = {}

    @property
    def status(self) -> dict[str, Any]:
        reports = self.of("report")
        return reports[-1]["status"] if reports else {}

    def answer_of(self, request: dict[str, Any]) -> bytes:
        if request["command"] == "report" and self.alarms:
            return result({"alarms": self.alarms, "alarms_number": 1})
        if request["command"] != "serial_requests":
            return super().answer_of(request)
        self.answers |= {each["number"]: each for each in request["answers"]}
        due, self._due = self._due, []
        return result({"requests": due})

    async def ask(self, command: str, **given: object) -> dict[str, Any]:
        """Send a request to the bridge and return its response."""
        self._number += 1
        number = self._number
        self._due.append({"command": command, "number": number, **given})
        await self.wait_until(lambda _: number in self.answers)
        return self.answers[number]


@contextlib.asynccontextmanager
async def bridge_of(
    directory: Path, broker_port: int, files: SensorFiles, **others: Any
) -> AsyncIterator[Broker]:
    """Run a bridge with the ports of the configuration files."""
    settings = settings_of(directory, broker_port, *files.read(), **others)
    async with Broker(settings.control_socket) as broker:
        stop = asyncio.Event()
        serving = asyncio.create_task(main.serve(settings, stop, sensor_files=files))
        try:
            yield broker
        finally:
            stop.set()
            async with asyncio.timeout(DEADLINE_SECONDS):
                await serving


def files_of(directory: Path, text: str = "") -> SensorFiles:
    """The files next to a configuration file with this text."""
    file = directory / "gateway.toml"
    file.write_text(text)
    return ConfigurationSource(file, directory).sensor_files()


def line_of(value: int) -> bytes:
    """Return a sensor's line with this temperature."""
    return json.dumps({"temperature": value}).encode() + b"\n"


async def test_a_port_is_detected_and_then_read_by_the_same_bridge(
    mosquitto: Mosquitto, tmp_path: Path
) -> None:
    terminal = Terminal(tmp_path / "port")
    port = str(terminal.link)
    async with bridge_of(tmp_path, mosquitto.port, files_of(tmp_path)) as broker:
        assert (await broker.ask("serial_detect", port=port))["result"]["state"] == "trying"
        while (await broker.ask("serial_progress", port=port))["result"]["state"] == "trying":
            await terminal.write(line_of(3))
        found = (await broker.ask("serial_progress", port=port))["result"]["found"]
        assert found["framing"] == "json"
        saved = await broker.ask("serial_save", name="boiler", table=found["table"])
        assert saved["ok"], saved
        await broker.wait_for_port("boiler", "open")
        refused = await broker.ask("serial_detect", port=port)
        assert refused["error"]["code"] == "conflict"
        await terminal.write(line_of(7) + b"{broken\n")
        while not (
            frames := (await broker.ask("serial_frames", name="boiler"))["result"]["frames"]
        ):
            pass
        assert bytes.fromhex(frames[-1]["hex"]).startswith(line_of(7))
        assert "temperature=7" in frames[-1]["text"]
    terminal.unplug()


async def test_a_reload_reads_ports_that_a_person_wrote(
    mosquitto: Mosquitto, tmp_path: Path
) -> None:
    files = files_of(tmp_path)
    async with bridge_of(tmp_path, mosquitto.port, files) as broker:
        text = '[[serial]]\nname = "hand"\npath = "/dev/absent"\nframing = "json"\n'
        (tmp_path / "gateway.toml").write_text(text)
        assert (await broker.ask("serial_reload"))["result"] == {"sensors": ["hand"]}
        await broker.wait_until(lambda room: bool(room.port("hand")))
        (tmp_path / "gateway.toml").write_text("[mqtt]\nmax_inflight = -1\n")
        refused = await broker.ask("serial_reload")
        assert "max_inflight" in refused["error"]["message"]
        assert broker.port("hand")


async def test_a_reload_moves_the_alarms_to_another_topic_and_empties_the_former_one(
    subscriber: Subscriber, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(publisher, "AVAILABILITY_SECONDS", 0.05)
    files = files_of(tmp_path)
    topic = "sensors/alarms"
    async with bridge_of(tmp_path, subscriber.port, files, alarms_topic=topic) as broker:
        broker.alarms = {"disk_low": {"count": 1}, "disk_full": None}
        low, full = b'{"count":1}', b""
        await subscriber.wait_until(
            lambda: dict(subscriber.messages).get(f"{topic}/disk_low") == low
        )
        (tmp_path / "gateway.toml").write_text('[alarms]\ntopic = "sensors/plant"\n')
        assert (await broker.ask("serial_reload"))["ok"]
        await subscriber.wait_until(
            lambda: (
                dict(subscriber.messages)
                == {
                    f"{topic}/disk_low": b"",
                    f"{topic}/disk_full": full,
                    "sensors/plant/disk_low": low,
                    "sensors/plant/disk_full": full,
                }
            )
        )


async def test_hostile_requests_are_refused_and_the_bridge_runs_on(
    mosquitto: Mosquitto, tmp_path: Path
) -> None:
    async with bridge_of(tmp_path, mosquitto.port, files_of(tmp_path)) as broker:
        table = {"path": "/dev/x", "framing": "json"}
        hostile: tuple[tuple[str, dict[str, object], str], ...] = (
            ("serial_format_disk", {}, "bad_request"),
            ("serial_save", {"name": "../../etc/cron.d/x", "table": table}, "invalid"),
            ("serial_save", {"name": "a\n[mqtt]", "table": table}, "invalid"),
            ("serial_save", {"name": 3, "table": table}, "bad_request"),
            ("serial_save", {"name": "a", "table": [table]}, "bad_request"),
            ("serial_save", {"name": "a", "table": table, "version": 3}, "bad_request"),
            ("serial_save", {"name": "a", "table": table, "version": "0"}, "conflict"),
            ("serial_remove", {"name": "a"}, "not_found"),
            ("serial_undo", {"name": "a"}, "not_found"),
            ("serial_port", {"name": "a"}, "not_found"),
            ("serial_detect", {"port": "tcp://10.0.0.1:22"}, "invalid"),
            ("serial_detect", {}, "bad_request"),
            ("serial_progress", {"port": "/dev/x"}, "not_found"),
            ("serial_frames", {"name": "x"}, "not_found"),
            ("serial_frames", {"name": 7}, "bad_request"),
        )
        for command, given, code in hostile:
            answer = await broker.ask(command, **given)
            assert answer["error"]["code"] == code, (command, given, answer)
        assert (await broker.ask("serial_ports"))["result"]["sensors"] == []
    assert not (tmp_path / "conf.d").exists()


def test_an_answer_without_requests_has_none() -> None:
    assert requests_in({}) == requests_in({"requests": 3}) == requests_in({"requests": [3]}) == []
