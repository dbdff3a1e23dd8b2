"""The form of a sensor and its table, in both directions."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from api import limits
from api.drawing.sensor_form import SensorForm, form_in, form_of_table
from api.forms import FormRefused

TABLES: list[dict[str, Any]] = [
    {"path": "/dev/ttyUSB0", "framing": "json", "line": "9600 8N1"},
    {"usb": "1546:01a7:A\"B'", "framing": "nmea"},
    {"address": "tcp://192.0.2.7:7001", "framing": "csv", "columns": ["a", "b"]},
    {
        "path": "/dev/x",
        "framing": "modbus",
        "devices": [{"name": "m", "address": 1, "registers": [{"name": "p", "at": 0}]}],
    },
]


@pytest.mark.parametrize("table", TABLES)
def test_a_table_in_the_form_is_the_same_table_again(table: dict[str, Any]) -> None:
    form = form_of_table("gps", "v1", table)
    assert (form.name, form.version) == ("gps", "v1")
    assert form.table == table


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ("columns = [", "Settings: use lines like `crc = false`"),
        ("crc = False", "true and false are lowercase"),
        ("poll_interval = 5s", "put quotes around a whole text"),
        ('[[serial]]\nname = "other"\ncrc = false', "name has a field of its own"),
        ("[[serial]]\ncrc = false\n[[serial]]\ncrc = true", "one [[serial]] table"),
        ("serial = 1", "one [[serial]] table"),
        ('name = "other"', "name has a field of its own"),
        ("framing = 1", "framing has a field of its own"),
        ("from = 2026-11-26", "a value is no number"),
        ("scale = nan", "a value is no number"),
        ("x = " + "[" * 3_000, "Settings: use lines like"),
        ("x" * (limits.SENSOR_SETTINGS_CHARACTERS_MAX + 1), "at most 16384 characters"),
    ],
)
def test_settings_that_are_none_are_refused_with_the_fix(settings: str, words: str) -> None:
    with pytest.raises(FormRefused, match=r".") as refused:
        _ = SensorForm(port="/dev/x", framing="json", settings=settings).table
    assert words in str(refused.value)
    assert refused.value.status_code == 422


@pytest.mark.parametrize(
    "settings",
    [
        'poll_interval = "5s"\n[[devices]]\nname = "m"\naddress = 1',
        'poll_interval = "5s"\n[[serial.devices]]\nname = "m"\naddress = 1',
        '[[serial]]\npoll_interval = "5s"\n\n[[serial.devices]]\nname = "m"\naddress = 1',
        '\ufeff[[serial]]\npoll_interval="5s"\n[[serial.devices]]\nname = "m"\naddress=1'.replace(
            "\n", "\r\n"
        ),
    ],
)
def test_settings_may_be_pasted_as_they_stand_in_the_documentation(settings: str) -> None:
    table = SensorForm(port="/dev/x", framing="modbus", settings=settings).table
    assert table == {
        "path": "/dev/x",
        "framing": "modbus",
        "poll_interval": "5s",
        "devices": [{"name": "m", "address": 1}],
    }


@pytest.mark.parametrize(
    ("port", "key"),
    [
        ("/dev/ttyUSB0", "path"),
        ("ttyUSB0", "path"),
        ("serial/by-id/usb-FTDI", "path"),
        ("COM3", "path"),
        ("1546:01a7", "usb"),
        ("1546-01a7", "usb"),
        ("tcp://192.0.2.7:7001", "address"),
    ],
)
def test_a_port_is_a_path_a_usb_identity_or_an_address(port: str, key: str) -> None:
    assert SensorForm(port=port, framing="json").table[key] == port


def test_fields_that_are_empty_are_left_out() -> None:
    fields = {"name": " gps ", "port": "/dev/x", "framing": "nmea", "line": " ", "other": "x"}
    form = form_in(fields)
    assert form.name == "gps"
    assert form.table == {"path": "/dev/x", "framing": "nmea"}


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_text_is_a_table_or_refused(port: str, settings: str) -> None:
    try:
        table = SensorForm(port=port, framing="json", settings=settings).table
    except FormRefused:
        return
    assert table["framing"] == "json"
