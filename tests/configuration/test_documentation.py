"""docs/configuration.md agrees with the code about sections, keys and defaults."""

import re
from dataclasses import MISSING, Field
from pathlib import Path
from typing import Any

import pytest
from firmware_bridge.protocols.declared_field import FrameField
from firmware_bridge.protocols.mbus import MBusMeter
from firmware_bridge.protocols.modbus_device import Device
from firmware_bridge.protocols.modbus_register import Register
from firmware_bridge.protocols.table import PROTOCOLS

from gateway.configuration import Configuration, load
from gateway.configuration.description import text_of, written_of
from gateway.configuration.jwt import Jwt
from gateway.configuration.mysql import Mysql
from gateway.configuration.problems import section_at
from gateway.configuration.tls import ClientTls, PageTls, Tls
from gateway.configuration.uplink import UplinkTopic
from gateway.process.declarations.readings import QuantityRule, Readings
from gateway.process.declarations.section import fields_of, keys_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "configuration.md"
# A table inside another table has a section of its own in the page.
TABLES_WITHIN = {
    "### TLS at a listener": "tls",
    "### TLS at the page": "page_tls",
    "### Tokens of an identity provider": "jwt",
    "### Users in a database": "mysql",
    "### What the uplink carries": "uplink_topics",
    "### TLS towards the upstream broker": "uplink_tls",
    "### Fields of a frame": "serial_fields",
    "### Readings of a port": "serial_readings",
    "### Rules for a quantity": "serial_readings_quantities",
    "### Devices of a Modbus line": "serial_devices",
    "### Meters of an M-Bus line": "serial_meters",
    "### Registers of a Modbus device": "serial_devices_registers",
}
# For keys without a default value the page describes the behaviour in words.
WORDS = re.compile(
    r"none|none, required|the port's name|the first listener|created at .*|`uploaded` .*"
    r"|`100`, or `19` with .*"
    r"|`oncegate-` and the gateway's id|the machine's"
    r"|`100`, or `max_awaiting_rel` .*"
    r"|(half|an? \d+(th|nd)) of the file system.*"
)


WITHIN = {
    "tls": Tls,
    "page_tls": PageTls,
    "jwt": Jwt,
    "mysql": Mysql,
    "uplink_topics": UplinkTopic,
    "uplink_tls": ClientTls,
    "serial_fields": FrameField,
    "serial_readings": Readings,
    "serial_readings_quantities": QuantityRule,
    "serial_devices": Device,
    "serial_devices_registers": Register,
    "serial_meters": MBusMeter,
}


def documented() -> dict[tuple[str, str], str]:
    rows: dict[tuple[str, str], str] = {}
    section = ""
    for line in PAGE.read_text().splitlines():
        if heading := re.match(r"## \[+(\w+)\]+$", line):
            section = heading[1]
        elif line.startswith(("## ", "### ")):
            section = TABLES_WITHIN.get(line, "")
        elif section and (row := re.match(r"\| `(\w+)` \| (.*?) \|", line)):
            rows[section, row[1]] = row[2]
    return rows


def modelled() -> dict[tuple[str, str], Field[Any]]:
    return (
        {
            (section, key.name): key
            for section in keys_of(Configuration)
            for key in fields_of(section_at(section))
        }
        | {(name, key.name): key for name, section in WITHIN.items() for key in fields_of(section)}
        | {
            ("serial", key.name): key
            for protocol in PROTOCOLS.values()
            for key in fields_of(protocol)
        }
    )


def test_every_key_is_in_the_page_and_no_other() -> None:
    assert set(documented()) == set(modelled())


@pytest.mark.parametrize("place", modelled(), ids=".".join)
def test_the_default_in_the_page_is_the_default_in_the_code(place: tuple[str, str]) -> None:
    key = modelled()[place]
    default = key.default if key.default_factory is MISSING else key.default_factory()
    shown = documented()[place]
    has_value = default is not MISSING and text_of(written_of(key, default)) != "-"
    if has_value:
        assert shown == f"`{text_of(written_of(key, default))}`"
    else:
        assert WORDS.fullmatch(shown)


def test_the_example_in_the_page_can_be_used(tmp_path: Path) -> None:
    example = re.search(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert example is not None
    file = tmp_path / "gateway.toml"
    file.write_text(example[1])
    assert load(file, {}, {}, PROTOCOLS).serial[0].name == "gps"
