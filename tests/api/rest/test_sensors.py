"""Sensors in the REST interface, for operators: roles, problems and versions."""

import asyncio
import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.api.acting import site
from tests.api.conftest import DEADLINE_SECONDS
from tests.api.sensor_site import sensor_site
from tests.bridge.terminal import Terminal

URL = "/api/v1/serial"
GPS: dict[str, Any] = {"name": "gps", "table": {"path": "/dev/absent", "framing": "nmea"}}


async def test_a_program_detects_adds_changes_removes_and_undoes(tmp_path: Path) -> None:
    terminal = Terminal(tmp_path / "port")
    port = str(terminal.link)
    async with sensor_site(tmp_path) as at, at.program("operator") as program:
        begun = await program.post(f"{URL}/detect", json={"port": port})
        assert (begun.status_code, begun.json()["state"]) == (200, "trying"), begun.text
        async with asyncio.timeout(DEADLINE_SECONDS):
            while (shown := await _progress(program, port))["state"] == "trying":
                terminal.send(json.dumps({"temperature": 21.5}).encode() + b"\n")
        assert shown["found"]["framing"] == "json"
        assert shown["found"]["values"][0]["name"] == "temperature"

        added = {"name": "boiler", "table": shown["found"]["table"]}
        assert (await program.post(f"{URL}/save", json=added)).json() == {"sensors": ["boiler"]}
        again = await program.post(f"{URL}/detect", json={"port": port})
        assert (again.status_code, "remove the sensor" in again.json()["detail"]) == (409, True)

        file = (await program.get(f"{URL}/sensor?name=boiler")).json()
        changed = {**added, "version": file["version"]}
        changed["table"] = file["table"] | {"units": {"temperature": "Cel"}}
        del changed["table"]["name"]
        assert (await program.post(f"{URL}/save", json=changed)).status_code == 200
        late = await program.post(f"{URL}/save", json=changed)
        assert (late.status_code, late.headers["content-type"]) == (409, "application/problem+json")
        assert "another operator" in late.json()["detail"]

        version = (await program.get(f"{URL}/sensor?name=boiler")).json()["version"]
        gone = {"name": "boiler", "version": version}
        assert (await program.post(f"{URL}/remove", json=gone)).json() == {"sensors": []}
        undone = await program.post(f"{URL}/undo", json={"name": "boiler"})
        assert undone.json() == {"sensors": ["boiler"]}
        (sensor,) = (await program.get(f"{URL}/ports")).json()["sensors"]
        assert (sensor["name"], sensor["can_change"]) == ("boiler", True)
        assert at.counted["serial_save"] == 2
    terminal.unplug()


@pytest.mark.parametrize("user", ["anna", None])
async def test_a_viewer_may_neither_see_ports_nor_change_sensors(
    tmp_path: Path, user: str | None
) -> None:
    async with sensor_site(tmp_path) as at, at.program("viewer") as viewer:
        for path in ("/ports", "/progress?port=/dev/x", "/sensor?name=gps"):
            assert (await viewer.get(f"{URL}{path}")).status_code == 403
        for path in ("detect", "save", "remove", "undo"):
            assert (await viewer.post(f"{URL}/{path}", json=GPS)).status_code == 403
    assert not (tmp_path / "conf.d").exists()


@pytest.mark.parametrize(
    ("path", "given", "status", "words"),
    [
        ("save", GPS | {"name": "../gps"}, 422, "a name has 1 to 64"),
        ("save", GPS | {"name": "a\nb"}, 422, "a name has 1 to 64"),
        ("save", GPS | {"table": {"framing": "nmea"}}, 422, "one of path, usb and address"),
        ("save", GPS | {"table": []}, 422, "table"),
        ("save", GPS | {"table": {"x": {"y": [1] * 3}}}, 422, "x is not a key"),
        ("save", GPS | {"version": "0" * 16}, 409, "another operator"),
        ("save", GPS | {"other": 1}, 422, "other"),
        ("remove", {"name": "gps"}, 404, "no file"),
        ("undo", {"name": "gps"}, 404, "can be undone"),
        ("detect", {"port": "tcp://192.0.2.1:22"}, 422, "a port is a path"),
        ("detect", {"port": ""}, 422, "port"),
    ],
)
async def test_what_cannot_be_done_has_a_problem_with_the_fix(
    tmp_path: Path, path: str, given: dict[str, Any], status: int, words: str
) -> None:
    async with sensor_site(tmp_path) as at, at.program("operator") as program:
        refused = await program.post(f"{URL}/{path}", json=given)
        assert (refused.status_code, refused.headers["content-type"]) == (
            status,
            "application/problem+json",
        )
        assert words in refused.json()["detail"]
    assert not (tmp_path / "conf.d").exists()


async def test_of_two_operators_who_add_one_sensor_the_second_is_refused(tmp_path: Path) -> None:
    async with sensor_site(tmp_path) as at, at.browser("ben") as ben, at.browser("carl") as carl:
        first, second = await asyncio.gather(
            ben.post(f"{URL}/save", json=GPS), carl.post(f"{URL}/save", json=GPS)
        )
        assert sorted([first.status_code, second.status_code]) == [200, 409]


async def test_without_a_bridge_it_is_503_with_the_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.broker.server.control.sensors.AWAY_SECONDS", 0.05)
    async with site(tmp_path) as at, at.program("operator") as program:
        away = await program.get(f"{URL}/ports")
        assert (away.status_code, away.headers["retry-after"]) == (503, "2")
        assert "oncegate-bridge" in away.json()["mend"]


async def test_while_the_bridge_is_away_other_actions_do_not_wait_for_it(tmp_path: Path) -> None:
    async with site(tmp_path) as at, at.program("operator") as program:
        asking = [asyncio.create_task(program.get(f"{URL}/ports")) for _ in range(8)]
        await at.broker.client(at.port, "probe")
        kicked = await program.post("/api/v1/kick", json={"client_id": "probe"})
        assert kicked.status_code == 200
        assert not all(each.done() for each in asking)
        for each in asking:
            each.cancel()
        await asyncio.gather(*asking, return_exceptions=True)


async def test_a_form_of_another_page_changes_nothing(tmp_path: Path) -> None:
    async with sensor_site(tmp_path) as at, at.browser("ben") as browser:
        foreign = {"Origin": "https://elsewhere.example"}
        refused = await browser.post(f"{URL}/save", json=GPS, headers=foreign)
        assert refused.status_code == 403
        refused = await browser.post(f"{URL}/save", json=GPS, headers={"X-Form-Token": "x"})
        assert refused.status_code == 403
    assert not (tmp_path / "conf.d").exists()


async def _progress(program: httpx.AsyncClient, port: str) -> dict[str, Any]:
    answer = await program.get(f"{URL}/progress", params={"port": port})
    shown: dict[str, Any] = answer.json()
    return shown
