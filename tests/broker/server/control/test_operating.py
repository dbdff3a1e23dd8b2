"""The operators' socket: commands by role, whatever role the page claims for a user."""

import asyncio
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from gateway.broker.access.passwords.file import set_password
from tests.broker.server.reloading_broker import reloading_broker

BEN: dict[str, object] = {"by": "ben", "role": "operator", "from": "192.0.2.7"}
PAGE = {"viewers": ["anna"], "operators": ["ben"], "administrators": ["carl"]}
NOT_HERE = ("drop", "exported", "report", "observe", "status", "sessions", "authenticate", "user")


def written(directory: Path, **page: object) -> dict[str, Any]:
    """Return a configuration with users; `page` are keys of `[api]`."""
    set_password(directory / "passwords", "ben", b"secret", scram_iterations=4_096)
    keys = {f"api__{key}": value for key, value in page.items()}
    listeners = [{"port": 0, "anonymous": True}]
    return {"listeners": listeners, "access__password_file": directory / "passwords"} | keys


async def ask(directory: Path, **request: object) -> dict[str, Any]:
    reader, writer = await asyncio.open_unix_connection(directory / "data" / "operate.sock")
    try:
        writer.write(json.dumps(request).encode() + b"\n")
        answer: dict[str, Any] = json.loads(await reader.readline())
        return answer
    finally:
        writer.close()


async def test_without_operators_there_is_no_such_socket(tmp_path: Path) -> None:
    async with reloading_broker(tmp_path, **written(tmp_path, viewers=["anna"])):
        assert not (tmp_path / "data" / "operate.sock").exists()
        assert (tmp_path / "data" / "status.sock").exists()


async def test_it_takes_only_what_is_listed_and_only_of_those_who_may(tmp_path: Path) -> None:
    async with reloading_broker(tmp_path, **written(tmp_path, **PAGE)) as broker:
        path = tmp_path / "data" / "operate.sock"
        assert stat.S_IMODE(path.stat().st_mode) == 0o660
        for command in NOT_HERE:
            answer = await ask(tmp_path, command=command, client_id="probe", **BEN)
            assert answer["error"]["code"] == "forbidden", command
        claims: tuple[tuple[str, dict[str, object], str], ...] = (
            ("kick", {}, "bad_request"),
            ("kick", BEN | {"role": "root"}, "bad_request"),
            ("kick", BEN | {"role": 3}, "bad_request"),
            ("kick", BEN | {"by": ""}, "bad_request"),
            ("kick", BEN | {"program": "yes"}, "bad_request"),
            ("kick", BEN | {"by": "anna"}, "forbidden"),
            ("kick", BEN | {"by": "anna", "role": "viewer"}, "forbidden"),
            ("kick", BEN | {"by": "stranger"}, "forbidden"),
            ("kick", BEN | {"program": True}, "forbidden"),
            ("reload", BEN, "forbidden"),
            ("reload", BEN | {"role": "administrator"}, "forbidden"),
        )
        for command, claim, code in claims:
            answer = await ask(tmp_path, command=command, client_id="probe", **claim)
            assert answer["error"]["code"] == code, claim
        assert (await ask(tmp_path, command="kick", client_id="x", **BEN))["error"][
            "code"
        ] == "not_found"
        carl = BEN | {"by": "carl", "role": "administrator"}
        assert (await ask(tmp_path, command="reload", **carl))["ok"]
        counted = broker.running.control.operating.counted
        assert counted == {"refused": len(NOT_HERE) + len(claims) + 1, "reload": 1}


@pytest.mark.parametrize(("role", "code"), [("operator", "not_found"), ("administrator", None)])
async def test_a_group_gives_its_role_to_each_user_of_the_page_and_no_higher_one(
    tmp_path: Path, role: str, code: str | None
) -> None:
    jwt = {"issuer": "http://127.0.0.1:9", "audience": "x", "groups_claim": "groups"}
    keys = written(tmp_path, operator_groups=["house"]) | {"access__jwt": jwt}
    async with reloading_broker(tmp_path, **keys):
        claim = BEN | {"by": "someone", "role": role}
        answer = await ask(tmp_path, command="kick", client_id="x", **claim)
        assert answer["error"]["code"] == (code or "forbidden")


async def test_hostile_values_stand_escaped_and_short_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with reloading_broker(tmp_path, **written(tmp_path, **PAGE)):
        await ask(tmp_path, command="kick", client_id="a\nb\x1b[31m" + "x" * 60_000, **BEN)
    (line,) = [each for each in caplog.messages if each.startswith("page: ")]
    assert "\n" not in line
    assert "\x1b" not in line
    assert len(line) < 2_000
