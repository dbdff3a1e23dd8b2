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
DEVICE: dict[str, object] = {"port": "p", "values": {}, "facts": {}}


def changed(**others: object) -> str:
    return json.dumps({**json.loads(contents_of(WHOLE)), **others})


def described(**others: object) -> str:
    """Return a file with one device, which has these members in place of those of DEVICE."""
    return changed(devices={"d": {**DEVICE, **others}})


def test_what_was_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    assert load(path) == Remembered()
    write(path, contents_of(WHOLE))
    assert load(path) == WHOLE
    assert [each.name for each in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        "[" * 100_000,
        changed(version=2),
        described(facts={"colour": "red"}),
        described(facts={"model": 3}),
        described(facts={"model": "x" * 65}),
        changed(topics=["sensors/+/x"]),
        changed(topics=["sensors/gps/alt"]),
        changed(topics=[3]),
        changed(topics=[f"h/device/{n}/config" for n in range(TOPICS_MAX + 1)]),
        changed(devices={"d": {"port": "p", "values": {}}}),
        described(port=1),
        described(values={"x": {"quantity": "x"}}),
        described(values={"x'}": VALUE}),
        described(values={"x": {**VALUE, "kind": "odd"}}),
        described(values={"x": {**VALUE, "unit": 3}}),
        described(values={"x": {**VALUE, "is_gone": 3}}),
        changed(devices=dict.fromkeys((f"d{n}" for n in range(257)), DEVICE)),
        described(values={f"x{n}": VALUE for n in range(129)}),
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
