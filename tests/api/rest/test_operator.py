"""Actions at the broker's operating socket: sent once, or refused with an explanation."""

from pathlib import Path
from typing import Any

import pytest

from api import limits
from api.login.admission import Caller
from api.login.roles import Role
from api.models.actions import Kick, Kicked
from api.rest.operator import Operator
from api.status.control_socket import BrokerProblem
from tests.peers.control_server import ControlServer, result

CALLER = Caller("dashboard", Role.OPERATOR, None)


class Script(ControlServer):
    answer = result({"kicked": True})

    def answer_of(self, request: dict[str, Any]) -> bytes:
        return self.answer


async def kick(path: Path) -> Kicked:
    return await Operator(path).carry_out(
        "kick", Kick(client_id="probe"), CALLER, "192.0.2.7", Kicked
    )


async def test_the_broker_is_given_who_acts_and_from_where(tmp_path: Path) -> None:
    async with Script(tmp_path / "operate.sock") as broker:
        assert (await kick(broker.path)).kicked
        assert broker.requests == [
            {
                "command": "kick",
                "client_id": "probe",
                "by": "dashboard",
                "program": True,
                "role": "operator",
                "from": "192.0.2.7",
            }
        ]


@pytest.mark.parametrize(
    ("answer", "status_code", "words"),
    [
        (b"", 503, "may have been carried out"),
        (b"nonsense\n", 502, "different versions"),
        (result({"kicked": "maybe"}), 502, "probably carried out"),
    ],
)
async def test_an_action_whose_answer_is_of_no_use_is_not_repeated(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    answer: bytes,
    status_code: int,
    words: str,
) -> None:
    monkeypatch.setattr(limits, "ACTION_SECONDS_MAX", 0.2)
    async with Script(tmp_path / "operate.sock") as broker:
        broker.answer = answer
        with pytest.raises(BrokerProblem) as problem:
            await kick(broker.path)
        assert problem.value.status_code == status_code
        assert words in problem.value.fix
        assert len(broker.requests) == 1


async def test_without_the_socket_the_fix_names_its_keys(tmp_path: Path) -> None:
    with pytest.raises(BrokerProblem) as problem:
        await kick(tmp_path / "operate.sock")
    assert "[api] operators" in problem.value.fix


async def test_more_actions_than_may_wait_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "ACTIONS_WAITING_MAX", 0)
    with pytest.raises(BrokerProblem, match="Other actions"):
        await kick(tmp_path / "operate.sock")
