"""Actions of operators and administrators in the REST interface, at a real broker."""

import logging
from pathlib import Path
from typing import Any

import httpx
import pytest

from api.rest.actions import FORM_TOKEN_HEADER
from gateway.broker.wire.codes import BANNED
from gateway.configuration import ConfigurationError
from tests.api.acting import site
from tests.broker.server.reloading_broker import eventually

KICK = {"client_id": "probe"}
BAN = {"kind": "client", "value": "probe", "reason": "sends nonsense", "seconds": 3600}


async def test_an_operator_disconnects_a_client_whose_session_stays(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "gateway.broker.server.control.operating")
    async with site(tmp_path) as at, at.browser("ben") as browser:
        probe = await at.broker.client(at.port, "probe")
        answer = await browser.post("/api/v1/kick", json=KICK)
        assert (answer.status_code, answer.json()) == (200, {"kicked": True})
        await probe.rest()
        again = await browser.post("/api/v1/kick", json=KICK | {"client_id": "nothing"})
        assert again.status_code == 404
        assert again.json()["mend"]
        assert at.counted == {"kick": 1, "refused": 1}
        status = (await browser.get("/api/v1/status")).json()
        assert "operations" in status
        await at.broker.client(at.port, "probe")
    done, refused = (each for each in caplog.messages if each.startswith("page: "))
    assert done == "page: 'ben' ('operator') from '127.0.0.1': 'kick'('client_id'='probe'): done"
    assert "refused: " in refused


async def test_a_ban_by_a_program_holds_until_it_is_lifted(tmp_path: Path) -> None:
    async with site(tmp_path) as at, at.program("operator") as program:
        probe = await at.broker.client(at.port, "probe")
        answer = await program.post("/api/v1/ban", json=BAN)
        assert answer.status_code == 200, answer.text
        assert answer.json()["ended"] == 1
        assert answer.json()["kept"] is True
        await probe.rest()
        await at.broker.client(at.port, "probe", reason_code=BANNED)
        async with at.program("viewer") as viewer:
            (listed,) = (await viewer.get("/api/v1/bans")).json()["bans"]
        assert listed == answer.json()["banned"]
        assert listed["until_ms"] - listed["since_ms"] == 3_600_000
        old = {"kind": "client", "value": "probe"}
        assert (await program.post("/api/v1/lift-ban", json=old)).status_code == 200
        assert (await program.post("/api/v1/lift-ban", json=old)).status_code == 404
        await at.broker.client(at.port, "probe")
        assert at.counted == {"ban": 1, "lift_ban": 1, "refused": 1}


async def test_a_reload_reports_what_holds_and_what_waits(tmp_path: Path) -> None:
    async with site(tmp_path) as at, at.browser("carl") as browser:
        at.broker.written |= {"mqtt.max_inflight": 7, "gateway.id": "gw-other"}
        answer = await browser.post("/api/v1/reload", json={})
        assert answer.status_code == 200, answer.text
        assert answer.json()["changed"] == ["mqtt.max_inflight"]
        assert answer.json()["needs_restart"] == ["gateway.id"]
        assert at.counted == {"reload": 1}


async def test_a_file_with_a_mistake_changes_nothing_and_the_mistake_is_named(
    tmp_path: Path,
) -> None:
    async with site(tmp_path) as at, at.program("administrator") as program:
        before = at.broker.running.reloading.configuration
        at.broker.written |= {"mqtt.max_inflight": -7, "mqtt.max_mqueue_len": 5}
        with pytest.raises(ConfigurationError):
            at.broker.read()
        answer = await program.post("/api/v1/reload", json={})
        assert answer.status_code == 409
        assert "max_inflight" in answer.json()["detail"]
        assert "check-config" in answer.json()["mend"]
        assert at.broker.running.reloading.configuration is before
        assert at.counted == {"refused": 1}


@pytest.mark.parametrize("command", ["restart", "reboot"])
async def test_a_restart_is_requested_where_systemd_waits_for_requests(
    tmp_path: Path, command: str
) -> None:
    async with site(tmp_path) as at, at.program("administrator") as program:
        refused = await program.post(f"/api/v1/{command}", json={})
        assert refused.status_code == 409
        assert "where it was started" in refused.json()["detail"]
        requests = at.broker.read().gateway.control_socket.parent / "requests"
        requests.mkdir()
        answer = await program.post(f"/api/v1/{command}", json={})
        assert answer.json() == {"requested": True}
        assert [each.name for each in requests.iterdir()] == [command]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": ""}, 403),
        ({FORM_TOKEN_HEADER: ""}, 403),
        ({FORM_TOKEN_HEADER: "x" * 43}, 403),
        ({"Content-Type": "text/plain"}, 415),
        ({"Content-Type": "application/x-www-form-urlencoded"}, 415),
    ],
)
async def test_what_another_site_can_send_with_a_cookie_does_nothing(
    tmp_path: Path, headers: dict[str, str], status: int
) -> None:
    async with site(tmp_path) as at, at.browser("carl") as browser:
        await at.broker.client(at.port, "probe")
        for path, given in (("kick", KICK), ("ban", BAN), ("reload", {})):
            answer = await browser.post(f"/api/v1/{path}", json=given, headers=headers)
            assert answer.status_code == status, answer.text
            assert answer.json()["mend"]
        assert at.counted == {}


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("kick", b"{}", 422),
        ("kick", b'{"client_id": 7}', 422),
        ("kick", b'{"client_id": "probe", "command": "drop"}', 422),
        ("kick", b'{"client_id": "probe", "role": "administrator"}', 422),
        ("kick", b"[" * 30_000, 422),
        ("kick", b"\xff", 422),
        ("kick", b'{"client_id": "' + b"x" * 40_000 + b'"}', 413),
        ("ban", b'{"kind": "all", "value": "x"}', 422),
        ("ban", b'{"kind": "address", "value": "not one"}', 400),
        ("ban", b'{"kind": "user", "value": "x", "seconds": 0}', 422),
        ("ban", b'{"kind": "user", "value": "x", "seconds": 1e999}', 422),
        ("reload", b"null", 422),
    ],
)
async def test_a_body_that_is_not_understood_is_refused_with_the_place(
    acting_site: Any, path: str, body: bytes, status: int
) -> None:
    program: httpx.AsyncClient = acting_site
    headers = {"Content-Type": "application/json"}
    answer = await program.post(f"/api/v1/{path}", content=body, headers=headers)
    assert answer.status_code == status, answer.text
    assert answer.json()["detail"]
    assert answer.json()["mend"]


@pytest.fixture
async def acting_site(tmp_path: Path) -> Any:
    async with site(tmp_path) as at, at.program("administrator") as program:
        yield program


async def test_a_program_has_the_actions_of_its_role_alone(tmp_path: Path) -> None:
    async with site(tmp_path) as at:
        async with at.program("viewer") as viewer:
            for path in ("kick", "ban", "lift-ban", "reload"):
                assert (await viewer.post(f"/api/v1/{path}", json={})).status_code == 403
        async with at.program("operator") as operator:
            refused = await operator.post("/api/v1/reload", json={})
            assert refused.status_code == 403
            assert "this is for administrators" in refused.json()["detail"]
        assert at.counted == {}, "the broker was not asked"


async def test_who_has_lost_the_role_since_the_pages_start_may_not_act(tmp_path: Path) -> None:
    async with site(tmp_path) as at, at.browser("ben") as browser:
        at.broker.reload(api__operators=[])
        await eventually(
            lambda: "ben" not in at.broker.running.control.operating.page.roles  # type: ignore[union-attr]
        )
        answer = await browser.post("/api/v1/kick", json=KICK)
        assert answer.status_code == 403
        assert "'ben' no role of operator" in answer.json()["detail"]
        at.broker.reload(api__administrators=[])
        socket = tmp_path / "data" / "operate.sock"
        await eventually(lambda: not socket.exists())
        answer = await browser.post("/api/v1/kick", json=KICK)
        assert answer.status_code == 503
        assert "oncegate ctl reload" in answer.json()["mend"]
        at.broker.reload(api__operators=["ben"])
        await eventually(socket.exists)
        assert (await browser.post("/api/v1/kick", json=KICK)).status_code == 404
