"""The record of each device's quantities, and its limits."""

import pytest
from firmware_bridge.readings import seen as limits
from firmware_bridge.readings.measurement import Measurement, Quantities, Value
from firmware_bridge.readings.seen import Seen, SeenDevice, SeenValue


def of(name: str, value: Value, unit: str | None = None) -> Quantities:
    return {name: [Measurement(name, value, unit)]}


def test_a_value_has_kind_and_unit_of_its_first_frame_and_bytes_are_left_out() -> None:
    seen = Seen({})
    sentence = [Measurement("gga/alt", 12.5, "m"), Measurement("gga/raw", b"x")]
    seen.note("p", "gps", {"gga": sentence, **of("fix", True), **of("state", "ok")})
    assert seen.devices["gps"].values == {
        "gga/alt": SeenValue("gga", "number", "m"),
        "fix": SeenValue("fix", "boolean", None),
        "state": SeenValue("state", "text", None),
    }


def test_a_sensor_that_alternates_causes_a_bounded_number_of_changes() -> None:
    seen = Seen({})
    for _ in range(100):
        seen.note("p", "d", of("x", "error"))
        seen.note("p", "d", of("x", 1.5, "V"))
        seen.note("p", "d", of("x", 2.5, "mV"))
        seen.note("other", "d", of("x", True))
    assert seen.devices == {"d": SeenDevice("p", {"x": SeenValue("x", "number", "V")})}
    assert seen.changes == 2


def test_what_comes_after_a_start_replaces_what_was_remembered_once() -> None:
    seen = Seen({"d": SeenDevice("p", {"x": SeenValue("x", "text", "V")})})
    seen.note("p", "d", of("x", True))
    seen.note("p", "d", of("x", 1))
    assert seen.devices["d"].values["x"] == SeenValue("x", "boolean", None)


def test_a_meter_that_was_replaced_is_described_again_after_a_start() -> None:
    seen = Seen({"d": SeenDevice("p", facts={"mbus_1_type": "003", "meter_id": "1"})})
    for kind in ("007", "003", "006"):
        seen.note("p", "d", of("mbus_1_type", kind))
    seen.note("p", "d", of("power", 1, "W"))
    assert seen.devices["d"].facts == {"mbus_1_type": "007", "meter_id": "1"}
    seen.note("p", "d", of("meter_id", "2"))
    assert seen.devices["d"].facts["meter_id"] == "2"


def test_devices_and_values_beyond_the_limits_are_not_described_and_logged_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(limits, "DEVICES_DESCRIBED_MAX", 2)
    monkeypatch.setattr(limits, "QUANTITIES_DESCRIBED_MAX", 3)
    seen = Seen({})
    for device in range(5):
        for name in range(5):
            seen.note("p", f"d{device}", of(f"x{name}", 1))
    assert {name: len(each.values) for name, each in seen.devices.items()} == {"d0": 3, "d1": 3}
    assert [record.message for record in caplog.records] == [
        "d0/x3 is not described for Home Assistant: the limit is 3 values of a device"
    ]


def test_a_value_that_is_gone_is_there_again_when_it_comes_and_makes_room_for_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "QUANTITIES_DESCRIBED_MAX", 2)
    gone = {name: SeenValue(name, "number", "V", is_gone=True) for name in ("x", "y")}
    seen = Seen({"d": SeenDevice("p", gone)})
    seen.note("p", "d", of("x", 1, "V"))
    assert seen.devices["d"].values["x"] == SeenValue("x", "number", "V")
    seen.note("p", "d", of("z", 1))
    assert seen.devices["d"].values.keys() == {"x", "z"}
    seen.note("p", "d", of("y", 1))
    assert seen.devices["d"].values.keys() == {"x", "z"}
