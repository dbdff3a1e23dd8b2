"""What cannot work is refused when it is said, with the mend."""

from pathlib import Path
from typing import Any

import pytest
from firmware_bridge.settings import BridgeSettings, LineSettings, PortSettings

PORT: dict[str, Any] = {"name": "a", "path": "/dev/ttyUSB0", "usb": None, "framing": "json"}
BRIDGE: dict[str, Any] = {
    "data_dir": Path("var"),
    "broker_host": "127.0.0.1",
    "broker_port": 1883,
    "client_id": "bridge",
    "username": None,
    "password": None,
    "control_socket": Path("var/control.sock"),
    "ports": (),
}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "two words"}, "use 1 to 64 letters"),
        ({"usb": "0403:6001"}, "either path or usb"),
        ({"path": None}, "either path or usb"),
        ({"path": None, "usb": "cable"}, "VID:PID"),
        ({"framing": "xml"}, "not one of json, key_value, csv, nmea, board"),
        ({"framing": "board", "line": LineSettings(data_bits=7)}, "8 data bits in line"),
        ({"framing": "csv"}, "at least one"),
        ({"columns": ("a",)}, "belong to framing csv"),
        ({"framing": "csv", "columns": ("a", "a")}, "stands twice"),
        ({"framing": "csv", "columns": ("a/b",)}, "column 'a/b'"),
        ({"device": "a+b"}, "device 'a\\+b'"),
        ({"device": "board-0000002a"}, "belong to boards"),
        ({"framing": "board", "device": "a"}, "leave device out"),
    ],
)
def test_a_port_that_cannot_work_is_refused_with_the_mend(
    change: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        PortSettings(**{**PORT, **change})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"baud_rate": 0}, "baud_rate 0 is not a positive number"),
        ({"data_bits": 9}, "9 data bits: use 7 or 8"),
        ({"parity": "M"}, "parity 'M' is not one of N, E, O"),
        ({"stop_bits": 3}, "3 stop bits: use 1 or 2"),
    ],
)
def test_a_line_that_cannot_work_is_refused_with_the_mend(
    change: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        LineSettings(**change)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"client_id": ""}, "client_id"),
        ({"window": 0}, "window"),
        ({"window": 65536}, "window"),
        ({"outbox_bytes_max": 1}, "outbox_max"),
        ({"report_seconds": 0}, "report_seconds"),
        ({"password": "secret"}, "without username"),
        ({"ports": (PortSettings(**PORT), PortSettings(**PORT))}, "same name"),
    ],
)
def test_a_bridge_that_cannot_work_is_refused_with_the_mend(
    change: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValueError, match=words):
        BridgeSettings(**{**BRIDGE, **change})


def test_a_port_without_a_device_lends_its_own_name() -> None:
    assert PortSettings(**PORT).device_name == "a"
    assert PortSettings(**PORT, device="kettle").device_name == "kettle"


def test_a_csv_column_can_be_left_out_more_than_once() -> None:
    columns = ("_", "a", "_")
    assert PortSettings(**{**PORT, "framing": "csv"}, columns=columns).columns == columns
