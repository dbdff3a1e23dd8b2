"""The file of announced descriptions survives a restart; a damaged file is read as empty."""

import json
from pathlib import Path

import pytest
from firmware_bridge.mqtt.discovery_file import (
    TOPICS_MAX,
    Remembered,
    contents_of,
    load,
    write,
)
from firmware_bridge.readings.seen import SeenDevice, SeenValue

WHOLE = Remembered(
    {"homeassistant/device/cellar-gps/config"},
    {
        "gps": SeenDevice(
            "port 1",
            {
                "gga/alt": SeenValue("gga", "number", "m"),
                "gga/fix": SeenValue("gga", "text", None, is_gone=True),
                "door": SeenValue("door", "boolean", None),
            },
            {"manufacturer": "EMH", "mbus_1_type": "003"},
        )
    },
)
VALUE = {"quantity": "x", "kind": "number", "unit": None}


def changed(**others: object) -> str:
    return json.dumps({**json.loads(contents_of(WHOLE)), **others})


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert load(path) == Remembered()
    write(path, contents_of(WHOLE))
    assert load(path) == WHOLE
    assert b'"kind":"truth"' in path.read_bytes(), "the name in the file has not changed"
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


def test_a_file_of_before_values_could_be_gone_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text(changed(version=1, devices={"d": {"port": "p", "values": {"x": VALUE}}}))
    assert load(path).devices == {"d": SeenDevice("p", {"x": SeenValue("x", "number", None)})}


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "[" * 100_000,
        changed(version=4),
        changed(devices={"d": {"port": "p", "values": {}, "facts": {"colour": "red"}}}),
        changed(devices={"d": {"port": "p", "values": {}, "facts": {"model": 3}}}),
        changed(devices={"d": {"port": "p", "values": {}, "facts": {"model": "x" * 65}}}),
        changed(topics=["sensors/+/x"]),
        changed(topics=["sensors/gps/alt"]),
        changed(topics=[3]),
        changed(topics=[f"h/device/{n}/config" for n in range(TOPICS_MAX + 1)]),
        changed(devices={"d": {"port": 1, "values": {}}}),
        changed(devices={"d": {"port": "p", "values": {"x": {"quantity": "x"}}}}),
        changed(devices={"d": {"port": "p", "values": {"x'}": VALUE}}}),
        changed(devices={"d": {"port": "p", "values": {"x": {**VALUE, "kind": "odd"}}}}),
        changed(devices={"d": {"port": "p", "values": {"x": {**VALUE, "unit": 3}}}}),
        changed(devices={"d": {"port": "p", "values": {"x": {**VALUE, "is_gone": 3}}}}),
        changed(devices={f"d{n}": {"port": "p", "values": {}} for n in range(257)}),
        changed(devices={"d": {"port": "p", "values": {f"x{n}": VALUE for n in range(129)}}}),
    ],
)
def test_a_damaged_file_counts_as_none_and_is_logged(
    content: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "file"
    path.write_text(content)
    assert load(path) == Remembered()
    (record,) = caplog.records
    assert str(path) in record.message
    assert "by hand" in record.message
