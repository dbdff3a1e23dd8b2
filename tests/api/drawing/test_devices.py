"""Devices as the pages show them."""

from typing import Any

import pytest

from api import limits
from api.drawing.devices import (
    csv_series_of,
    shown_on_overview,
    topic_filter_of,
)
from api.history.history import History, Reading
from api.models.bridge import BridgeStatus, devices_of, found_device
from tests.api import recorded


def bridge_of(**bent: Any) -> BridgeStatus:
    status = recorded.bridge_status()
    status["ports"][0].update(bent)
    return BridgeStatus.model_validate(status)


def many_devices(count: int, quantities: int) -> BridgeStatus:
    status = recorded.bridge_status()
    (device,) = status["ports"][0]["devices"]
    status["ports"] = status["ports"][:1]
    status["ports"][0]["devices"] = [
        {
            **device,
            "device": f"d{number}",
            "quantities": [recorded.quantity(f"q{n}", n, "Cel") for n in range(quantities)],
        }
        for number in range(count)
    ]
    return BridgeStatus.model_validate(status)


def recorded_history(bridge: BridgeStatus) -> History:
    history = History(None)
    history.add(
        recorded.NOW_MS,
        [
            Reading(f"sensors/{d.device}/{q.name}", "", recorded.NOW_MS, 1, 1.0, 1.0, 1.0, 1.0)
            for _, d in devices_of(bridge)
            for q in d.quantities
        ],
    )
    return history


def test_devices_quantities_and_curves_of_the_overview_are_bounded() -> None:
    bridge = many_devices(60, 30)
    shown, left = shown_on_overview(bridge, recorded_history(bridge), now_ms=recorded.NOW_MS)
    assert (len(shown), left) == (limits.DEVICES_ON_OVERVIEW_MAX, 60 - len(shown))
    assert {len(each.quantities) for each in shown} == {limits.QUANTITIES_ON_OVERVIEW_MAX}
    assert {each.others for each in shown} == {30 - limits.QUANTITIES_ON_OVERVIEW_MAX}
    charts = [each.chart for device in shown for each in device.quantities if each.chart]
    assert len(charts) == limits.CHARTS_ON_OVERVIEW_MAX


def test_silent_devices_are_first() -> None:
    status = recorded.bridge_status()
    status["ports"][1]["devices"][0]["silent_seconds"] = 70
    bridge = BridgeStatus.model_validate(status)
    assert [device.device for _, device in devices_of(bridge)] == ["gps", "board-0000002a"]


def test_a_device_is_found_by_its_name() -> None:
    found = found_device(bridge_of(), "gps")
    assert found is not None
    assert found[0].name == "gps"
    assert found_device(bridge_of(), "none") is None


@pytest.mark.parametrize(
    ("topic", "expected"),
    [
        ("sensors/{device}/{quantity}", "sensors/board-0000002a/+"),
        ("site/{device}", "site/board-0000002a"),
        ("site/{quantity}", None),
        ("site/{device}-{quantity}", None),
        (None, None),
    ],
)
def test_the_topic_filter_of_a_device_is_that_of_its_port(
    topic: str | None, expected: str | None
) -> None:
    found = found_device(bridge_of(topic=topic), "board-0000002a")
    assert found is not None
    assert topic_filter_of(*found) == expected


def test_a_csv_file_has_numbers_alone_and_no_more_than_a_request_may() -> None:
    bridge = many_devices(1, 30)
    shown, _ = shown_on_overview(bridge, History(None), now_ms=recorded.NOW_MS)
    assert csv_series_of(shown[0].quantities * 3)[:2] == ["sensors/d0/q0", "sensors/d0/q1"]
    assert len(csv_series_of(shown[0].quantities * 3)) == limits.SERIES_PER_REQUEST_MAX
    texts, _ = shown_on_overview(bridge_of(devices=[]), History(None), now_ms=recorded.NOW_MS)
    assert [name.split("/")[-1] for name in csv_series_of(texts[0].quantities)] == [
        "latitude",
        "longitude",
    ]
