"""Alarm conditions of serial ports."""

from typing import Any

import pytest

from api.alarms.conditions.condition import Level
from api.alarms.conditions.ports import conditions_of_port
from api.models.bridge import Port
from tests.api import recorded

Ports = list[dict[str, Any]]


@pytest.fixture
def ports() -> Ports:
    """Return the recorded ports, which a test may change."""
    found: Ports = recorded.bridge_status()["ports"]
    return found


def sentences_of(ports: Ports) -> list[tuple[Level, str]]:
    return [
        (condition.level, condition.text.replace("\N{NO-BREAK SPACE}", " "))
        for port in ports
        for condition in conditions_of_port(Port.model_validate(port), now_ms=recorded.NOW_MS)
    ]


def test_a_port_that_is_well_has_no_notice(ports: Ports) -> None:
    assert sentences_of(ports) == []


def test_a_device_whose_clock_is_wrong_is_named(ports: Ports) -> None:
    ports[0]["devices"][0].update(clock_ms=946_684_800_000)
    [(level, sentence)] = sentences_of(ports)
    assert level is Level.ATTENTION
    assert sentence.startswith(
        "The clock of board-0000002a on serial port greenhouse shows 2000-01-01"
    )


def test_a_lost_port_is_named_with_its_last_reading_and_the_fix(ports: Ports) -> None:
    ports[0].update(state="lost", last_reading_ms=recorded.NOW_MS - 300_000)
    [(level, sentence)] = sentences_of(ports)
    assert level is Level.ATTENTION
    assert sentence == (
        "Serial port greenhouse is lost (last reading 5 min ago). Check plug and power. "
        "The bridge opens the port again automatically."
    )


def test_a_port_that_was_never_found_is_named_with_the_fix(ports: Ports) -> None:
    ports[0].update(state="waiting", last_reading_ms=None)
    assert "has not been found yet" in sentences_of(ports)[0][1]


def test_a_silent_port_and_one_that_is_not_read_are_named(ports: Ports) -> None:
    ports[0].update(silent_seconds=720)
    ports[1].update(held=True)
    assert [sentence.split(":")[0] for _, sentence in sentences_of(ports)] == [
        (
            "Serial port greenhouse has not received a byte for 12 min. Check sensor, cable and "
            "line settings; silent_after sets when this is shown."
        ),
        "Serial port gps is not read because the outbox is full",
    ]


def test_a_port_that_is_not_open_has_the_reason_that_the_bridge_reports(ports: Ports) -> None:
    ports[0].update(state="waiting", trouble="2 USB devices are 1a86:7523")
    ports[1].update(state="lost", trouble="/dev/ttyUSB0 was disconnected")
    assert [sentence for _, sentence in sentences_of(ports)] == [
        (
            "Serial port greenhouse is not open: 2 USB devices are 1a86:7523. Check plug and path. "
            "The bridge tries again automatically."
        ),
        (
            "Serial port gps is lost (last reading 1 s ago): /dev/ttyUSB0 was "
            "disconnected. Check plug and power. The bridge opens the port again automatically."
        ),
    ]


def test_a_port_of_which_many_frames_are_damaged_is_named_with_their_share(ports: Ports) -> None:
    ports[0].update(damaged_share=0.2512, damaged_share_seconds=300, damage_warning=True)
    ports[1].update(damaged_share=0.02, damage_warning=False)
    assert sentences_of(ports) == [
        (
            Level.ATTENTION,
            (
                "Serial port greenhouse: 25 % of the frames of the last 5 min were damaged. Check "
                "sensor, cable and line settings."
            ),
        )
    ]


def test_silent_devices_are_named_with_their_port(ports: Ports) -> None:
    ports[0].update(devices_watched=40, devices_silent=10, silent_devices=["boiler", "pump"])
    ports[1].update(devices_watched=1, devices_silent=1, silent_devices=["mast\u202e"])
    assert [sentence for _, sentence in sentences_of(ports)] == [
        (
            "10 devices on serial port greenhouse are silent: boiler, pump and 8 more. Check "
            "power, wiring and address; device_silent_after sets when this is shown."
        ),
        (
            r"1 device on serial port gps is silent: mast\u{202e}. Check power, wiring and "
            "address; device_silent_after sets when this is shown."
        ),
    ]


def test_a_port_that_loses_readings_is_named_with_the_reason(ports: Ports) -> None:
    ports[0].update(dropping="outbox_full", when_full="drop_newest")
    ports[1].update(dropping="disk_full", when_full="drop_oldest")
    assert [sentence.split(". ")[0] for _, sentence in sentences_of(ports)] == [
        (
            "Serial port greenhouse loses readings because the outbox is full (when_full is "
            "drop_newest)"
        ),
        "Serial port gps loses readings because the disk is full (when_full is drop_oldest)",
    ]


def test_devices_that_do_not_answer_are_named_once(ports: Ports) -> None:
    def device(name: str, count: int | None, *, silent_seconds: int | None = None) -> object:
        failed = None if count is None else {"count": count, "reason": "no_answer"}
        return {"device": name, "failed": failed, "silent_seconds": silent_seconds}

    ports[0]["devices"] = [
        device("pump", 3),
        device("disturbed", 2),
        device("well", None),
        device("named before", 90, silent_seconds=600),
    ]
    ports[1]["devices"] = [device(f"d{n}", 9) for n in range(10)]
    assert [sentence for _, sentence in sentences_of(ports)] == [
        (
            "1 device on serial port greenhouse does not answer: pump (no_answer). Check power, "
            "wiring, address and line settings."
        ),
        (
            "10 devices on serial port gps do not answer: "
            + ", ".join(f"d{n} (no_answer)" for n in range(8))
            + " and 2 more. Check power, wiring, address and line settings."
        ),
    ]
