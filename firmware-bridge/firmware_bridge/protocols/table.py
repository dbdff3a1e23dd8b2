"""All protocols, keyed by their names in gateway.toml (key `framing`).

To add a protocol, create a file with its settings and its decoder or poller, and add a line here.
"""

from collections.abc import Mapping
from typing import Final

from firmware_bridge.protocols.board import Board
from firmware_bridge.protocols.csv_lines import CsvLines
from firmware_bridge.protocols.d0 import D0
from firmware_bridge.protocols.declared_frames import DeclaredFrames
from firmware_bridge.protocols.dlms import Dlms
from firmware_bridge.protocols.dsmr import Dsmr
from firmware_bridge.protocols.interface import DecoderSettings, PollerSettings
from firmware_bridge.protocols.json_lines import JsonLines
from firmware_bridge.protocols.key_value import KeyValueLines
from firmware_bridge.protocols.mbus import MBus
from firmware_bridge.protocols.modbus import Modbus
from firmware_bridge.protocols.mysensors import MySensors
from firmware_bridge.protocols.nmea import Nmea
from firmware_bridge.protocols.pattern_lines import PatternLines
from firmware_bridge.protocols.sml import Sml
from firmware_bridge.protocols.teleinfo import Teleinfo
from firmware_bridge.protocols.vedirect import VeDirect

PROTOCOLS: Final[Mapping[str, type[DecoderSettings] | type[PollerSettings]]] = {
    "board": Board,
    "nmea": Nmea,
    "json": JsonLines,
    "key_value": KeyValueLines,
    "csv": CsvLines,
    "pattern": PatternLines,
    "mysensors": MySensors,
    "dsmr": Dsmr,
    "d0": D0,
    "sml": Sml,
    "teleinfo": Teleinfo,
    "vedirect": VeDirect,
    "dlms": Dlms,
    "mbus": MBus,
    "frames": DeclaredFrames,
    "modbus": Modbus,
}
