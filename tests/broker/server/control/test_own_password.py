"""The own password of an administrator."""

from pathlib import Path

import pytest

from gateway.broker.access.passwords.file import set_password
from gateway.broker.server.control.own_password import confirm
from gateway.broker.server.control.refused import Refused
from tests.broker.server.reloading_broker import reloading_broker


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ({"by": "carl", "own_password": "secret"}, None),
        ({"by": "carl", "own_password": "wrong"}, "wrong_password"),
        ({"by": "none", "own_password": "secret"}, "wrong_password"),
        ({"by": "carl"}, "bad_request"),
        ({"by": "carl", "own_password": "secret", "program": True}, "forbidden"),
    ],
)
async def test_a_person_is_confirmed_by_the_password_of_the_login(
    tmp_path: Path, request_: dict[str, object], code: str | None
) -> None:
    users = tmp_path / "passwords"
    set_password(users, "carl", b"secret", scram_iterations=4_096)
    async with reloading_broker(tmp_path, access__password_file=users) as broker:
        authentications = broker.running.event_loop.authentications
        if code is None:
            await confirm(authentications, request_, "tokens")
            return
        with pytest.raises(Refused) as refused:
            await confirm(authentications, request_, "tokens")
    assert refused.value.code == code
