"""Alarm conditions of the broker, its disk and its clock."""

import pytest

from api.alarms.conditions.condition import Level
from tests.api.alarms.gateway import Gateway, warning


@pytest.mark.parametrize("state", ["starting", "stopping", "anything"])
def test_a_broker_that_does_not_run_fully_needs_a_look(gateway: Gateway, state: str) -> None:
    gateway.broker["state"] = state
    assert gateway.sentences() == [(Level.ATTENTION, f"The broker is {state}.")]


def test_a_salvaged_database_is_said_once(gateway: Gateway) -> None:
    gateway.broker["store"] = {"recovery": "salvaged", "detail": "12 rows of queue were lost"}
    assert "12 rows of queue were lost" in gateway.sentences()[0][1]
    gateway.broker["warnings"] = [
        warning("Damage at the start: 12 rows of queue were lost.", "store_damaged")
    ]
    assert len(gateway.sentences()) == 1


def test_a_warning_of_the_broker_keeps_its_words(gateway: Gateway) -> None:
    gateway.broker["warnings"] = [warning("The queue is 80 % full.", fix="Bring it back.")]
    [condition] = gateway.conditions()
    assert (condition.id, condition.subject) == ("queue_filling", "client c")
    assert condition.text == "The queue is 80 % full. Bring it back."


def test_a_change_that_waits_for_a_restart_is_information(gateway: Gateway) -> None:
    gateway.broker["warnings"] = [warning("gateway.id waits.", "restart_needed")]
    assert [level for level, _ in gateway.sentences()] == [Level.INFORMATION]


def test_a_full_disk_is_critical_and_is_said_once(gateway: Gateway) -> None:
    gateway.broker["disk"] |= {"full": True, "free_bytes": 1}
    gateway.broker["warnings"] = [warning("The disk is full.", "disk_full")]
    [(level, sentence)] = gateway.sentences()
    assert level is Level.BAD
    assert sentence.startswith("Nothing new has been accepted")


def test_a_disk_that_is_nearly_full_has_its_share(gateway: Gateway) -> None:
    gateway.broker["disk"] |= {"total_bytes": 1_000_000_000, "free_bytes": 90_000_000}
    [condition] = gateway.conditions()
    assert condition.id == "disk_low"
    assert gateway.conditions(disk_free_share=0.09) == ()


def test_an_unsynchronised_clock_is_a_condition(gateway: Gateway) -> None:
    gateway.broker["clock"] = "unsynchronised"
    assert [condition.id for condition in gateway.conditions()] == ["clock_unsynchronised"]
