"""Errors in responses are logged with the name of the device, at each doubling."""

import logging

import pytest
from firmware_bridge.protocols.frame import Damage, Frame, Refused
from firmware_bridge.serial.answers import Answers
from firmware_bridge.serial.status import PortStatus

REQUEST = ("pump", "pump: holding 1 to 3")


def test_a_device_that_does_not_answer_is_named_at_doublings_and_when_it_answers_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    status = PortStatus("bus", "modbus", "path")
    answers = Answers(status)
    for _ in range(100):
        answers.note(Damage("no_answer"), *REQUEST)
    device = status.devices["pump"]
    assert device.as_json(None)["failed"] == {"count": 100, "reason": "no_answer"}
    assert len(caplog.records) == 7  # at 1, 2, 4 ... 64
    assert caplog.records[-1].getMessage() == (
        "serial port bus: pump does not answer (holding 1 to 3), 64 since the start; check its "
        "power, address, wiring and the line settings"
    )
    answers.note(Refused("exception_2"), *REQUEST)
    assert device.as_json(None)["failed"] is None
    assert caplog.records[-1].getMessage() == (
        "serial port bus: pump answers again after 100 requests without an answer"
    )


def test_a_refusal_is_no_fault_of_the_line_and_one_disturbance_no_outage(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    answers = Answers(PortStatus("bus", "modbus", "path"))
    for _ in range(9):
        answers.note(Refused("exception_2"), *REQUEST)
    assert caplog.records == []
    answers.note(Damage("checksum"), *REQUEST)
    answers.note(Frame({}, device="pump"), *REQUEST)
    (record,) = caplog.records
    assert "pump answers with a wrong checksum (holding 1 to 3), 1 since" in record.getMessage()


def test_a_value_that_is_none_is_named_unless_the_configuration_expects_it(
    caplog: pytest.LogCaptureFixture,
) -> None:
    answers = Answers(PortStatus("bus", "modbus", "path"))
    missing = {"power_factor": "not_measured", "night": "no_value"}
    for _ in range(8):
        answers.note(Frame({}, device="pump", skipped=missing), *REQUEST)
    assert [record.getMessage().split(",")[0] for record in caplog.records] == (
        ["serial port bus: pump has no value for power_factor (not_measured)"] * 4
    )
