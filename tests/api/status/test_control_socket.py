"""The client of the control socket with a broker that is away, slow, restarted or a stranger."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from api import limits
from api.status.control_socket import BrokerProblem, ControlSocket
from gateway.process.control.messages import LINE_BYTES_MAX, Refused
from tests.api import recorded
from tests.api.contract_broker import ContractBroker

STATUS: dict[str, object] = {"command": "status"}


@pytest.fixture
async def asker(status_socket: Path) -> AsyncIterator[ControlSocket]:
    asker = ControlSocket(status_socket, answer_seconds_max=0.2)
    yield asker
    asker.close()


async def problem_of(asker: ControlSocket) -> BrokerProblem:
    with pytest.raises(BrokerProblem) as caught:
        await asker.request(STATUS)
    return caught.value


async def test_a_result_is_returned_and_the_connection_is_kept(
    asker: ControlSocket, broker: ContractBroker
) -> None:
    assert await asker.request(STATUS) == recorded.status()
    assert await asker.request(STATUS) == recorded.status()
    assert broker.connections_accepted == 1


async def test_a_refusal_carries_the_brokers_code_and_words(
    asker: ControlSocket, broker: ContractBroker
) -> None:
    with pytest.raises(Refused, match="no session for client id 'nobody'") as caught:
        await asker.request({"command": "session", "client_id": "nobody"})
    assert caught.value.code == "not_found"


async def test_an_absent_socket_is_named_together_with_the_fix(
    asker: ControlSocket, status_socket: Path
) -> None:
    problem = await problem_of(asker)
    assert str(status_socket) in problem.reason
    assert "oncegate broker" in problem.fix
    assert problem.status_code == 503


async def test_a_dead_brokers_socket_is_distinguished_from_an_absent_one(
    asker: ControlSocket, broker: ContractBroker
) -> None:
    await broker.stop()
    assert "no process answers" in (await problem_of(asker)).reason


async def test_a_socket_path_that_is_too_long_reports_it(tmp_path: Path) -> None:
    problem = await problem_of(ControlSocket(tmp_path / ("x" * 200)))
    assert "107 bytes" in problem.fix


async def test_a_restarted_broker_is_found_again_without_a_failed_question(
    asker: ControlSocket, status_socket: Path
) -> None:
    async with ContractBroker(status_socket):
        await asker.request(STATUS)
    async with ContractBroker(status_socket):
        assert await asker.request(STATUS) == recorded.status()


async def test_a_slow_broker_is_given_up_and_its_late_answer_is_not_confused_with_another(
    asker: ControlSocket, broker: ContractBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "RETRY_SECONDS", 0.0)
    broker.silent = True
    assert "did not answer within 0.2 seconds" in (await problem_of(asker)).reason
    broker.silent = False
    assert await asker.request({"command": "reports"}) == broker.reports
    assert broker.connections_accepted == 2


async def test_after_a_failure_the_broker_is_left_alone_for_a_moment(
    status_socket: Path, broker: ContractBroker
) -> None:
    broker.silent = True
    # Longer than a busy machine takes until the broker, which runs in this event loop, reads the
    # request.
    asker = ControlSocket(status_socket, answer_seconds_max=1.0)
    async with asyncio.timeout(60):
        problems = await asyncio.gather(*(problem_of(asker) for _ in range(100)))
    asker.close()
    assert len({problem.reason for problem in problems}) == 1
    assert len(broker.requests) == 1


@pytest.mark.parametrize(
    "answer",
    [
        b"\n",
        b"HTTP/1.1 400 Bad Request\r\n",
        b"\xff\xfe\x00\n",
        b"null\n",
        b"[]\n",
        b"{}\n",
        b'{"ok":true}\n',
        b'{"ok":true,"result":[]}\n',
        b'{"ok":1,"result":{}}\n',
        b'{"ok":false}\n',
        b'{"ok":false,"error":{"code":1,"message":"x"}}\n',
        b"[" * 500_000 + b"\n",
    ],
)
async def test_an_answer_outside_the_contract_is_a_problem_of_versions(
    asker: ControlSocket, broker: ContractBroker, answer: bytes
) -> None:
    broker.instead = lambda _: answer
    problem = await problem_of(asker)
    assert problem.status_code == 502
    assert "cannot be read" in problem.reason


async def test_a_line_beyond_one_mebibyte_is_not_read_to_its_end(
    asker: ControlSocket, broker: ContractBroker
) -> None:
    broker.instead = lambda _: b"x" * (LINE_BYTES_MAX + 2)
    assert "more than 1,048,576 bytes" in (await problem_of(asker)).reason


async def test_a_line_of_almost_one_mebibyte_is_read(
    asker: ControlSocket, broker: ContractBroker
) -> None:
    long = {"ok": True, "result": {"gateway": "x" * (LINE_BYTES_MAX - 100)}}
    broker.instead = lambda _: json.dumps(long).encode() + b"\n"
    assert await asker.request(STATUS) == long["result"]


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(answer=st.binary(max_size=200))
async def test_no_bytes_of_the_other_side_escape_as_another_kind_of_error(
    tmp_path_factory: pytest.TempPathFactory, answer: bytes
) -> None:
    path = tmp_path_factory.mktemp("socket") / "s"
    async with ContractBroker(path) as broker:
        broker.instead = lambda _: answer.replace(b"\n", b"") + b"\n"
        asker = ControlSocket(path)
        with pytest.raises((BrokerProblem, Refused)):
            await asker.request(STATUS)
        asker.close()
