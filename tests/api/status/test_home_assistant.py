"""The state of a device in Home Assistant, from a broker's answers."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from api.models.home_assistant import InHomeAssistant
from api.status.control_socket import ControlSocket
from api.status.home_assistant import in_home_assistant
from api.status.observer import Observer
from tests.api.contract_broker import ContractBroker
from tests.api.recorded_topics import AVAILABILITY, DESCRIPTION, description, discovery, topic_state

DEVICE = "board-0000002a"


@pytest.fixture
async def observer(status_socket: Path) -> AsyncIterator[Observer]:
    observer = Observer(ControlSocket(status_socket))
    yield observer
    await observer.close()


async def state_in(observer: Observer, device: str = DEVICE) -> InHomeAssistant:
    bridge = (await observer.overview()).serial.status
    assert bridge is not None
    return await in_home_assistant(observer, bridge, device)


def report(broker: ContractBroker, **bent: object) -> None:
    broker.reports["bridge"]["status"]["home_assistant"] = discovery(**bent)


async def test_a_described_device_is_available_with_class_and_unit(
    observer: Observer, broker: ContractBroker
) -> None:
    found = await state_in(observer)
    assert (found.verdict, found.mend, found.topic) == ("available", None, DESCRIPTION)
    (entity,) = found.entities
    assert (entity.quantity, entity.device_class) == ("temperature", "temperature")
    assert (entity.unit, entity.state_class) == ("\N{DEGREE SIGN}C", "measurement")
    assert entity.topic == "sensors/board-0000002a/temperature"
    assert [each.state for each in found.availability] == ["online", "online"]
    assert (found.clients, found.status_topic) == (["home"], "homeassistant/status")
    assert found.status == "online"


async def test_without_a_prefix_discovery_is_off(
    observer: Observer, broker: ContractBroker
) -> None:
    broker.reports["bridge"]["status"]["home_assistant"] = None
    found = await state_in(observer)
    assert (found.verdict, found.topic) == ("off", None)
    assert "home_assistant_prefix" in str(found.mend)


async def test_a_state_that_is_not_online_makes_the_device_unavailable(
    observer: Observer, broker: ContractBroker
) -> None:
    broker.topic_states[f"{AVAILABILITY}/greenhouse"] = topic_state("offline")
    found = await state_in(observer)
    assert found.verdict == "unavailable"
    assert f"{AVAILABILITY}/greenhouse is offline" in found.sentence
    broker.topic_states[f"{AVAILABILITY}/greenhouse"] = topic_state(None)


@pytest.mark.parametrize(
    ("denied", "words"), [(0, "no connected client is subscribed"), (1, "access rules hide it")]
)
async def test_a_description_that_no_one_reads_is_not_received(
    observer: Observer, broker: ContractBroker, denied: int, words: str
) -> None:
    text = json.dumps(description())
    broker.topic_states[DESCRIPTION] = topic_state(text, clients=(), denied=denied)
    found = await state_in(observer)
    assert found.verdict == "not_received"
    assert words in found.sentence
    assert found.mend


async def test_a_device_without_a_description_is_not_described(
    observer: Observer, broker: ContractBroker
) -> None:
    found = await state_in(observer, "another")
    assert (found.verdict, found.entities) == ("not_described", [])
    assert "publish homeassistant/#" in str(found.mend)
    found = await state_in(observer, "x" * 2000)  # Longer than any topic that the broker takes.
    assert found.verdict == "not_described"


async def test_the_reason_for_a_missing_connection_is_shown(
    observer: Observer, broker: ContractBroker
) -> None:
    report(broker, connected=False, fault="not authorised")
    assert "(not authorised)" in (await state_in(observer, "another")).sentence


@pytest.mark.parametrize(
    "text",
    [
        "{",
        "[]",
        "{}",
        '{"cmps": 7}',
        '{"cmps": {"a": {"p": 1}}}',
        json.dumps({**description(), "avty": [{"t": "a"}] * 4}),
        json.dumps({**description(), "avty": [{"t": ""}]}),
    ],
)
async def test_a_foreign_description_is_not_described(
    observer: Observer, broker: ContractBroker, text: str
) -> None:
    broker.topic_states[DESCRIPTION] = topic_state(text)
    found = await state_in(observer)
    assert found.verdict == "not_described"
    assert "not one of this gateway" in found.sentence
