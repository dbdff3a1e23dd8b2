"""The table of protocols: names and settings for every program that reads a configuration."""

import pickle
import subprocess
import sys
from typing import Any

import pytest
from firmware_bridge.protocols.csv_lines import CsvLines
from firmware_bridge.protocols.declared_field import FrameField
from firmware_bridge.protocols.declared_frames import DeclaredFrames
from firmware_bridge.protocols.interface import Decoder, DecoderSettings, PollerSettings
from firmware_bridge.protocols.mbus import MBusMeter
from firmware_bridge.protocols.modbus import Modbus
from firmware_bridge.protocols.modbus_device import Device
from firmware_bridge.protocols.modbus_register import Register
from firmware_bridge.protocols.pattern_lines import PatternLines
from firmware_bridge.protocols.table import PROTOCOLS

from gateway.configuration.serial_port import Serial
from gateway.process.declarations.protocol import ProtocolSettings
from gateway.process.declarations.section import keys_of
from gateway.process.declarations.serial_line import Line

KEYS: dict[str, dict[str, Any]] = {
    "csv": {"columns": ("temperature", "_")},
    "pattern": {"pattern": "(?P<temperature>.+)"},
    "frames": {
        "start": "42 4D",
        "frame_bytes": 8,
        "checksum": "sum16",
        "fields": (FrameField(name="pm2_5", at=4, type="u16"),),
    },
    "modbus": {
        "devices": (Device(name="pump", address=5, registers=(Register(name="speed", at=0),)),),
    },
    "mbus": {"meters": (MBusMeter(name="heat", address=5),)},
}
"""The required settings of each protocol."""

LIBRARIES = ("cbor2", "cobs", "pydantic", "pynmeagps", "serial")
IMPORTED = f"""
import sys
import firmware_bridge.protocols.table
print([name for name in {LIBRARIES!r} if name in sys.modules])
"""


def made(name: str) -> ProtocolSettings:
    return PROTOCOLS[name](**KEYS.get(name, {}))


DECODERS = [name for name, made in PROTOCOLS.items() if issubclass(made, DecoderSettings)]


@pytest.mark.parametrize("name", DECODERS)
def test_each_protocol_makes_a_decoder_that_finds_nothing_in_nothing(name: str) -> None:
    settings = made(name)
    assert isinstance(settings, DecoderSettings)
    decoder = settings.decoder()
    assert isinstance(decoder, Decoder)
    assert (decoder.feed(b""), decoder.flush()) == ([], [])
    assert not decoder.tally.damaged


@pytest.mark.parametrize("name", [name for name in PROTOCOLS if name not in DECODERS])
def test_each_other_protocol_makes_a_poller_that_begins(name: str) -> None:
    settings = made(name)
    assert isinstance(settings, PollerSettings)
    settings.poller(Line()).begin(0.0)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_settings_come_through_to_the_process_that_runs(name: str) -> None:
    assert pickle.loads(pickle.dumps(made(name))) == made(name)  # noqa: S301 - our own


@pytest.mark.parametrize("name", PROTOCOLS)
def test_the_keys_of_a_protocol_are_described_and_not_those_of_the_port(name: str) -> None:
    protocol = PROTOCOLS[name]
    assert set(protocol.descriptions) == set(keys_of(protocol))
    assert not set(keys_of(protocol)) & {*keys_of(Serial), "protocol"}


def test_a_program_that_only_reads_the_configuration_needs_no_library_of_a_protocol() -> None:
    command = [sys.executable, "-c", IMPORTED]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert found == "[]\n"


def test_a_protocol_whose_keys_name_the_values_knows_them() -> None:
    level = Register(name="level", at=0)
    modbus = Modbus(devices=(Device(name="tank", address=1, registers=(level,)),))
    assert modbus.value_names("tank") == {"level"}
    assert modbus.value_names("pump") == frozenset()
    assert CsvLines(columns=("level", "_")).value_names("tank") == {"level"}
    assert PatternLines(pattern="(?P<level>[0-9]+)").value_names("tank") == {"level"}
    fields = (FrameField(name="level", at=1),)
    frames = DeclaredFrames(start="42", frame_bytes=2, checksum="none", fields=fields)
    assert frames.value_names("tank") == {"level"}
