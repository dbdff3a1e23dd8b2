"""Unreadable values from a sensor become null with a reason; those from the broker are refused."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from api.models.bridge import BridgeStatus, Device, Quantity
from api.models.broker import Connections
from api.models.values import Count, FiniteNumber, Milliseconds
from tests.api import recorded


def test_nothing_is_unreadable_in_what_a_sound_bridge_reports() -> None:
    status = BridgeStatus.model_validate(recorded.bridge_status())
    assert all(not port.unreadable for port in status.ports)
    assert all(not device.unreadable for port in status.ports for device in port.devices)
    assert Quantity.model_validate(recorded.quantity("t", 1.5, "Cel")).unreadable == []


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


@given(st.dictionaries(st.sampled_from([*Device.model_fields, "other"]), ODD) | ODD)
def test_any_value_of_a_sensor_is_read_and_what_is_not_shown_is_named(value: Any) -> None:
    read = Device.model_validate(value)
    assert set(read.unreadable) <= {*Device.model_fields, "all"}
    for name in set(read.unreadable) & set(Device.model_fields):
        assert getattr(read, name) == Device.model_fields[name].get_default()
    if not read.unreadable:
        assert isinstance(value, dict)
        for name, given_value in value.items():
            if name in ("boot", "sequence", "last_ms", "device"):
                assert getattr(read, name) == given_value


@pytest.mark.parametrize("value", [17, None, [], "text"])
def test_a_report_of_a_device_that_is_no_object_is_unreadable_as_a_whole(value: object) -> None:
    assert Device.model_validate(value).unreadable == ["all"]


def test_a_device_cannot_report_itself_which_fields_are_unreadable() -> None:
    assert Device.model_validate({"device": "a", "unreadable": ["boot"]}).unreadable == []


CONNECTIONS = {"open": 1, "accepted": 2, "refused": 0, "limit": 100}


@pytest.mark.parametrize("name", CONNECTIONS)
@pytest.mark.parametrize("value", [-1, 2**63, 1.5, "1", True, None])
def test_a_counter_of_the_broker_that_is_none_refuses_the_whole(name: str, value: object) -> None:
    assert Connections.model_validate(CONNECTIONS).limit == 100
    with pytest.raises(ValidationError, match=name):
        Connections.model_validate({**CONNECTIONS, name: value})


def test_a_missing_field_is_an_error_and_a_field_of_a_newer_broker_is_not() -> None:
    assert Connections.model_validate({**CONNECTIONS, "newer": 1}).open == 1
    with pytest.raises(ValidationError, match="refused"):
        Connections.model_validate({"open": 1, "accepted": 2, "limit": 100})


@pytest.mark.parametrize(
    ("kind", "last", "beyond"),
    [
        (Count, 2**63 - 1, 2**63),
        (Milliseconds, 253_402_300_799_999, 253_402_300_800_000),
        (FiniteNumber, 1e308, float("inf")),
    ],
)
def test_a_number_is_taken_to_its_bound_and_not_beyond(
    kind: Any, last: float, beyond: float
) -> None:
    adapter: TypeAdapter[float] = TypeAdapter(kind)
    assert adapter.validate_python(last) == last
    with pytest.raises(ValidationError):
        adapter.validate_python(beyond)
