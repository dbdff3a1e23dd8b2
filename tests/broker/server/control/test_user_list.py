"""The command `users`: users in the password file, with their connections and sessions."""

from pathlib import Path

from gateway.broker.access.passwords.file import set_password
from tests.broker.server.control.test_operating import BEN, PAGE, ask, written
from tests.broker.server.reloading_broker import reloading_broker

CARL = BEN | {"by": "carl", "role": "administrator"}


async def test_users_are_listed_by_name_page_by_page_for_administrators(tmp_path: Path) -> None:
    keys = written(tmp_path, **PAGE)
    for name in ("anna", "carl"):
        set_password(tmp_path / "passwords", name, b"secret", scram_iterations=4_096)
    async with reloading_broker(tmp_path, **keys) as broker:
        await broker.client(broker.shown[0]["port"], "probe", user="ben")
        first = await ask(tmp_path, command="users", limit=2, **CARL)
        assert [each["username"] for each in first["result"]["users"]] == ["anna", "ben"]
        ben = first["result"]["users"][1]
        assert (ben["in_password_file"], ben["connections"], ben["sessions"]) == (True, 1, 1)
        rest = await ask(tmp_path, command="users", after=first["result"]["next"], **CARL)
        assert [each["username"] for each in rest["result"]["users"]] == ["carl"]
        assert rest["result"]["next"] is None
        for wrong in ({"limit": 0}, {"limit": 201}, {"after": 7}):
            answer = await ask(tmp_path, command="users", **CARL, **wrong)
            assert answer["error"]["code"] == "bad_request"
        refused = await ask(tmp_path, command="users", **BEN)
        assert refused["error"]["code"] == "forbidden"
        counted = broker.running.control.operating.counted
        assert counted == {"refused": 1}, "a question is no action"
