"""Actions of operators in the session log: from the page, the control socket and by signal."""

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from gateway.broker.access.passwords.file import set_password
from gateway.broker.core.records.events import Event, decode
from gateway.broker.server.control.operations import REFUSED_BURST, Operations
from gateway.broker.store.journal_reader import JournalReader
from tests.broker.server.reloading_broker import ReloadingBroker, eventually, reloading_broker

BEN: dict[str, object] = {"by": "ben", "role": "operator", "from": "192.0.2.7"}
ROOT = f"user id {os.getuid()} of this machine"


async def ask(directory: Path, at: str, **request: object) -> dict[str, Any]:
    reader, writer = await asyncio.open_unix_connection(directory / "data" / f"{at}.sock")
    try:
        writer.write(json.dumps(request).encode() + b"\n")
        answer: dict[str, Any] = json.loads(await reader.readline())
        return answer
    finally:
        writer.close()


def operated(directory: Path) -> list[Event]:
    blobs = JournalReader(directory / "data").blobs_after(0, 1 << 20)
    events = [event for blob in blobs for event in decode(blob).events]
    return [event for event in events if event["event"] == "operated"]


def written(directory: Path) -> dict[str, Any]:
    set_password(directory / "passwords", "ben", b"secret", scram_iterations=4_096)
    return {
        "listeners": [{"port": 0}],
        "access__password_file": directory / "passwords",
        "api__operators": ["ben"],
    }


async def client(broker: ReloadingBroker, client_id: str) -> None:
    await broker.client(broker.shown[0]["port"], client_id)


async def test_each_action_is_an_event_with_who_what_and_outcome(tmp_path: Path) -> None:
    async with reloading_broker(tmp_path, **written(tmp_path)) as broker:
        await client(broker, "attic")
        assert (await ask(tmp_path, "operate", command="kick", client_id="attic", **BEN))["ok"]
        await client(broker, "attic")
        control = "control"
        # At the control socket the kernel states the user; the request's own claim is ignored.
        assert (await ask(tmp_path, control, command="drop", client_id="attic", by="anna"))["ok"]
        ban = {"kind": "client", "value": "attic", "reason": "noise"}
        assert (await ask(tmp_path, control, command="ban", **ban))["ok"]
        lift = {"kind": "client", "value": "attic"}
        assert (await ask(tmp_path, control, command="lift_ban", **lift))["ok"]
        broker.written["gateway.id"] = "another"
        assert (await ask(tmp_path, control, command="reload"))["ok"]
        os.kill(os.getpid(), signal.SIGHUP)
        token = {"action": "api_token_added", "name": "dashboard (viewer)"}
        assert (await ask(tmp_path, control, command="operated", **token))["ok"]
        assert not (await ask(tmp_path, control, command="kick", client_id="cellar"))["ok"]
        assert (await ask(tmp_path, control, command="status"))["ok"], "reading is no action"
        await eventually(lambda: len(operated(tmp_path)) >= 8)
        found = [(event["action"], event["detail"]) for event in operated(tmp_path)]
    expected = [
        ("kick", "'ben' ('operator') from '192.0.2.7': 'client_id'='attic': done"),
        ("drop", f"{ROOT}: 'client_id'='attic': done"),
        ("ban", f"{ROOT}: 'kind'='client', 'reason'='noise', 'value'='attic': done"),
        ("lift_ban", f"{ROOT}: 'kind'='client', 'value'='attic': done"),
        ("reload", f'{ROOT}: no arguments: done, needs a restart: ["gateway.id"]'),
        ("reload", "SIGHUP: no arguments: done"),
        ("api_token_added", f"{ROOT}: 'name'='dashboard (viewer)': done"),
        (
            "kick",
            f"{ROOT}: 'client_id'='cellar': refused: \"no session for client id 'cellar'\"",
        ),
    ]
    assert sorted(map(str, found)) == sorted(map(str, expected))


@pytest.mark.parametrize("request_", [{"command": "operated", "action": "drop", "name": "x"}])
async def test_nothing_else_is_reported_as_done(
    tmp_path: Path, request_: dict[str, object]
) -> None:
    async with reloading_broker(tmp_path, **written(tmp_path)):
        for name in ("control", "operate", "status"):
            answer = await ask(tmp_path, name, **request_, **BEN)
            assert answer["ok"] is False, name


def test_a_flood_of_refused_requests_does_not_fill_the_log() -> None:
    now = [0.0]
    seen: list[tuple[str, str]] = []

    def take(action: str, detail: str) -> None:
        seen.append((action, detail))

    operations = Operations(take, lambda: now[0])
    refused = {"ok": False, "error": {"message": "no"}}
    for _ in range(1_000):
        operations.note({"command": "kick"}, refused, "ben")
    assert len(seen) == REFUSED_BURST
    operations.note({"command": "kick"}, {"ok": True, "result": {}}, "ben")
    assert seen[-1] == ("kick", "ben: no arguments: done")
    now[0] = 1.0
    operations.note({"command": "kick"}, refused, "ben")
    assert len(seen) == REFUSED_BURST + 2


@pytest.mark.parametrize(
    ("bent", "code"),
    [
        ({}, None),
        ({"bytes": -1}, "bad_request"),
        ({"bytes": True}, "bad_request"),
        ({"data": "no"}, "bad_request"),
        ({"program": True}, "forbidden"),
        ({"role": "operator"}, "forbidden"),
    ],
)
async def test_the_download_of_a_backup_is_an_event_of_an_administrator(
    tmp_path: Path, bent: dict[str, object], code: str | None
) -> None:
    keys = written(tmp_path) | {"api__operators": [], "api__administrators": ["ben"]}
    async with reloading_broker(tmp_path, **keys):
        request = {"command": "backup_downloaded", "data": False, "bytes": 812}
        answer = await ask(
            tmp_path, "operate", **{**request, **BEN, "role": "administrator", **bent}
        )
        assert answer.get("error", {}).get("code") == code
        await eventually(lambda: len(operated(tmp_path)) >= 1)
        (event,) = operated(tmp_path)
        assert event["action"] == "backup_downloaded"
        assert ("'bytes'=812, 'data'=False: done" in str(event["detail"])) == (code is None)
