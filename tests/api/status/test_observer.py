"""One request to the broker serves many visitors."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from api import limits
from api.status.control_socket import BrokerProblem, ControlSocket
from api.status.observer import Observer
from tests.api.contract_broker import ContractBroker


@pytest.fixture
async def observer(status_socket: Path) -> AsyncIterator[Observer]:
    observer = Observer(ControlSocket(status_socket))
    yield observer
    await observer.close()


async def test_a_hundred_visitors_cost_the_broker_one_question(
    observer: Observer, broker: ContractBroker
) -> None:
    overviews = await asyncio.gather(*(observer.overview() for _ in range(100)))
    assert len({id(overview) for overview in overviews}) == 1
    assert broker.count_of("status") == 1
    assert broker.count_of("reports") == 1


async def test_an_answer_is_asked_for_again_when_it_is_too_old(
    observer: Observer, broker: ContractBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "ANSWER_REUSE_SECONDS", 0.0)
    await observer.overview()
    broker.status["subscriptions"] = 99
    assert (await observer.overview()).broker.subscriptions == 99


async def test_a_visitor_who_leaves_takes_the_answer_from_no_other_visitor(
    observer: Observer, broker: ContractBroker
) -> None:
    first = asyncio.create_task(observer.overview())
    second = asyncio.create_task(observer.overview())
    await asyncio.wait({first, second}, timeout=0)
    first.cancel()
    assert (await second).broker.gateway == "gw-5f3a91c2"
    assert broker.count_of("status") == 1


async def test_the_number_of_open_questions_is_bounded(
    observer: Observer, broker: ContractBroker
) -> None:
    broker.silent = True
    asked = limits.QUESTIONS_MAX + 5
    answers = await asyncio.gather(
        *(observer.session(f"client-{index}") for index in range(asked)), return_exceptions=True
    )
    reasons = [answer.reason for answer in answers if isinstance(answer, BrokerProblem)]
    assert len(reasons) == asked
    assert sum("different questions" in reason for reason in reasons) == 5


async def test_a_program_may_ask_one_question_after_the_other_without_a_pause(
    observer: Observer, broker: ContractBroker
) -> None:
    client_id = broker.sessions[0]["client_id"]
    for first in range(limits.QUESTIONS_MAX + 5):
        await observer.bans(first)
    assert (await observer.session(client_id)).client_id == client_id


async def test_a_field_that_is_missing_is_named_and_not_shown_as_zero(
    observer: Observer, broker: ContractBroker
) -> None:
    del broker.status["journal"]["bytes"]
    with pytest.raises(BrokerProblem, match=r"journal\.bytes is missing") as caught:
        await observer.overview()
    assert caught.value.status_code == 502


@pytest.mark.parametrize("wrong", [-1, "12", None, 1.5, True, 2**64])
async def test_a_counter_that_is_no_count_is_refused(
    observer: Observer, broker: ContractBroker, wrong: object
) -> None:
    broker.status["retained"] = wrong
    with pytest.raises(BrokerProblem, match="retained"):
        await observer.overview()


async def test_fields_of_a_newer_broker_are_ignored(
    observer: Observer, broker: ContractBroker
) -> None:
    broker.status["novelty"] = {"a": 1}
    assert (await observer.overview()).broker.state == "running"


async def test_a_report_that_cannot_be_read_spoils_only_itself(
    observer: Observer, broker: ContractBroker
) -> None:
    broker.reports["bridge"]["status"] = {"mqtt": "yes"}
    overview = await observer.overview()
    assert overview.serial.status is None
    assert overview.serial.problem is not None
    assert "The bridge's report cannot be read: mqtt" in overview.serial.problem
    assert overview.upload.status is not None


@pytest.mark.parametrize("reports", [{}, {"bridge": None, "uploader": None}])
async def test_processes_that_never_reported_are_no_error(
    observer: Observer, broker: ContractBroker, reports: dict[str, object]
) -> None:
    broker.reports = reports
    overview = await observer.overview()
    assert overview.serial.status is None
    assert overview.serial.problem is None
    assert overview.upload.age_seconds is None
