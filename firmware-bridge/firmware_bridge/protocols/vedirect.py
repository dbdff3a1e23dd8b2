"""The VE.Direct protocol of Victron solar chargers, monitors and inverters: one block per second::

    CR LF V TAB 12800 CR LF I TAB -150 ... CR LF Checksum TAB <byte>
    :A0002000148 LF                                            a message of the HEX protocol

A block consists of fields, the last of which is the checksum. The sum of all bytes of a block is 0
modulo 256. Messages of the HEX protocol may occur anywhere between fields. These messages are
skipped, and the sum does not include their bytes. Source: VE.Direct Protocol 3.33.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Final, NamedTuple

from firmware_bridge.protocols.frame import TYPE, Damaged, Frame
from firmware_bridge.protocols.interface import Decoder, DecoderSettings
from firmware_bridge.protocols.text_values import LineValues, is_nothing, name_for, number_of
from firmware_bridge.readings.kinds import Kinds
from firmware_bridge.readings.measurement import Measurement, Quantities, Value
from firmware_bridge.readings.scaling import OutOfRange, scaled
from gateway.process.declarations.serial_line import Line

# A block has up to 22 fields of at most 43 bytes, and messages of the HEX protocol between them.
BLOCK_BYTES_MAX: Final = 2048

_CHECKSUM = b"Checksum\t"
_FIRST_FIELD = b"\r\nPID\t"
_LABEL = re.compile(rb"\r\n([^\t\r\n]+)\t")
_HEX_MESSAGE = re.compile(rb":[^\n:]{0,256}\n")


class Field(NamedTuple):
    """The name and unit of a field, and the scale of its number. A scale of 0 marks a string.

    If the number is a code for a state, `states` maps each code to its meaning.
    """

    name: str
    unit: str | None = None
    scale: float = 1
    states: Mapping[int, str] = {}


_STATES: Final = {
    0: "off", 1: "low power", 2: "fault", 3: "bulk", 4: "absorption", 5: "float", 6: "storage",
    7: "equalize (manual)", 9: "inverting", 11: "power supply", 245: "starting up",
    246: "repeated absorption", 247: "auto equalize", 248: "battery safe",
    252: "external control",
}  # fmt: skip
_TRACKER_STATES: Final = {0: "off", 1: "voltage or current limited", 2: "tracking"}
_MODES: Final = {1: "charger", 2: "inverter", 4: "off", 5: "eco", 253: "hibernate"}
_TEXT: Final = 0
_FIELDS: Final = {
    "V": Field("battery_voltage", "V", 0.001), "V2": Field("battery_2_voltage", "V", 0.001),
    "V3": Field("battery_3_voltage", "V", 0.001), "VS": Field("starter_voltage", "V", 0.001),
    "VM": Field("mid_point_voltage", "V", 0.001), "DM": Field("mid_point_deviation", "%", 0.1),
    "VPV": Field("panel_voltage", "V", 0.001), "PPV": Field("panel_power", "W"),
    "I": Field("battery_current", "A", 0.001), "I2": Field("battery_2_current", "A", 0.001),
    "I3": Field("battery_3_current", "A", 0.001), "IL": Field("load_current", "A", 0.001),
    "T": Field("temperature", "Cel"), "P": Field("power", "W"),
    "CE": Field("consumed_charge", "Ah", 0.001), "SOC": Field("state_of_charge", "%EL", 0.1),
    "TTG": Field("time_to_go", "min"), "AR": Field("alarm_reason"),
    "OR": Field("off_reason", None, _TEXT), "ERR": Field("error"),
    "CS": Field("state", states=_STATES),
    "BMV": Field("model", None, _TEXT), "FW": Field("firmware", None, _TEXT),
    "FWE": Field("firmware_full", None, _TEXT),
    "HC#": Field("hardware", None, _TEXT), "PID": Field("product_id", None, _TEXT),
    "SER#": Field("serial_number", None, _TEXT), "HSDS": Field("day_number"),
    "MODE": Field("mode", states=_MODES), "WARN": Field("warning"),
    "MPPT": Field("tracker_mode", states=_TRACKER_STATES),
    "MON": Field("monitor_mode"), "LOAD": Field("load"), "Alarm": Field("alarm"),
    "Relay": Field("relay"), "AC_OUT_V": Field("ac_voltage", "V", 0.01),
    "AC_OUT_I": Field("ac_current", "A", 0.1), "AC_OUT_S": Field("ac_apparent_power", "VA"),
    "DC_IN_V": Field("dc_voltage", "V", 0.01), "DC_IN_I": Field("dc_current", "A", 0.1),
    "DC_IN_P": Field("dc_power", "W"),
    "H1": Field("deepest_discharge", "Ah", 0.001), "H2": Field("last_discharge", "Ah", 0.001),
    "H3": Field("average_discharge", "Ah", 0.001), "H4": Field("charge_cycles"),
    "H5": Field("full_discharges"), "H6": Field("charge_drawn", "Ah", 0.001),
    "H7": Field("battery_voltage_min", "V", 0.001), "H8": Field("battery_voltage_max", "V", 0.001),
    "H9": Field("since_full_charge", "s"), "H10": Field("synchronisations"),
    "H11": Field("low_voltage_alarms"), "H12": Field("high_voltage_alarms"),
    "H13": Field("low_starter_voltage_alarms"), "H14": Field("high_starter_voltage_alarms"),
    "H15": Field("starter_voltage_min", "V", 0.001),
    "H16": Field("starter_voltage_max", "V", 0.001), "H17": Field("energy_discharged", "kWh", 0.01),
    "H18": Field("energy_charged", "kWh", 0.01), "H19": Field("yield_total", "kWh", 0.01),
    "H20": Field("yield_today", "kWh", 0.01), "H21": Field("power_max_today", "W"),
    "H22": Field("yield_yesterday", "kWh", 0.01), "H23": Field("power_max_yesterday", "W"),
}  # fmt: skip
_TRUTH: Final = {"ON": True, "OFF": False}
_ENDLESS: Final = ("TTG", "-1")


@dataclass(frozen=True, kw_only=True)
class VeDirect(DecoderSettings):
    """Settings for Victron devices, which send blocks unprompted."""

    # The text is ASCII, but the byte of the checksum may have any value.
    data_bits: ClassVar = (8,)
    is_binary: ClassVar = True
    default_line: ClassVar = Line(19200)

    @property
    def frames_enough(self) -> int:
        """Number of blocks needed to identify the protocol: 1, because a block has a checksum."""
        return 1

    def decoder(self) -> "VeDirectDecoder":
        """Create a decoder for one serial line."""
        return VeDirectDecoder()


class VeDirectDecoder(Decoder):
    """Decoder of VE.Direct blocks.

    A block with a wrong checksum counts as damaged. The next block begins after the checksum.
    """

    frame_bytes_max = BLOCK_BYTES_MAX

    def __init__(self) -> None:
        super().__init__()
        self._buffer = b""
        self._damage: str | None = "checksum"

    def begin(self, *, mid_line: bool) -> None:
        """Discard bytes that were buffered when the port was closed.

        If the port is opened in the middle of a block, the first block counts as truncated.
        """
        if _HEX_MESSAGE.sub(b"", self._buffer).strip():
            self.tally.damaged["truncated"] += 1
        self._buffer = b""
        self._damage = "truncated" if mid_line else "checksum"

    def feed(self, data: bytes) -> list[Frame]:
        """Process received bytes. Return the blocks that are now complete, in order."""
        frames: list[Frame] = []
        self._buffer += data
        position = 0
        while True:
            limit = position + BLOCK_BYTES_MAX
            found = self._buffer.find(_CHECKSUM, position, limit)
            end = found + len(_CHECKSUM) + 1
            if found >= 0 and end <= len(self._buffer):
                position += self._read(self._buffer[position:end], frames)
            elif found < 0 and limit <= len(self._buffer):
                self._count("overlong" if self._damage else None)
                self._damage = None  # The rest of the block is not counted again.
                position = limit - len(_CHECKSUM)
            else:
                break
        self._buffer = self._buffer[position:]
        return frames

    def flush(self) -> list[Frame]:
        """Discard an incomplete block after a pause, because devices never pause inside a block."""
        self.begin(mid_line=False)
        return []

    def _read(self, data: bytes, frames: list[Frame]) -> int:
        """Decode the block at the end of `data`, and append its frame to `frames`.

        If the block is damaged, count it instead. Return the number of bytes consumed.
        """
        block, has_another_before = _block_of(data)
        size = len(data)
        if block is not None and has_another_before:
            self._count(self._damage and "truncated")
        if block is None:
            self._count(self._damage)
            # If the checksum byte itself was lost, the next block begins with this CR.
            size -= data.endswith(b"\r")
        elif quantities := self._quantities_of(block):
            frames.append(Frame(quantities))
        self._damage = "checksum"
        return size

    def _count(self, reason: str | None) -> None:
        if reason is not None:
            self.tally.damaged[reason] += 1

    def _quantities_of(self, block: bytes) -> Quantities:
        quantities: Quantities = {}
        for line in block[: block.rfind(_CHECKSUM)].split(b"\r\n"):
            label, tab, text = line.partition(b"\t")
            if not tab:
                continue
            try:
                found = _measurement_of(label.decode("ascii"), text.decode("ascii").strip())
            except UnicodeDecodeError:
                self.tally.skipped["text"] += 1
            except Damaged as damage:
                self.tally.skipped[damage.reason] += 1
            else:
                quantities[found.name] = [found]
        if changed := self.kinds.keep(quantities):
            self.tally.skipped[TYPE] += changed
        return quantities


def _block_of(data: bytes) -> tuple[bytes | None, bool]:
    """Find the valid block at the end of `data`, and check whether an earlier block was damaged.

    The first result is the block without HEX messages, or None if there is none. The second result
    is True if the valid block follows a block whose checksum was lost. A repeated label reveals
    this loss, even if the sum of all bytes happens to be 0.
    """
    body, end = data[: -len(_CHECKSUM) - 1], data[-len(_CHECKSUM) - 1 :]
    block = _HEX_MESSAGE.sub(b"", body) + end
    labels = _LABEL.findall(block)
    if sum(block) % 256 == 0 and len(labels) == len(set(labels)):
        return block, False
    again = block.rfind(_FIRST_FIELD)
    inner = block[again:]
    return (inner, True) if again > 0 and sum(inner) % 256 == 0 else (None, False)


def _measurement_of(label: str, text: str) -> Measurement:
    """Return the measurement of a field.

    Raises:
        Damaged: if the field is invalid or has no value. The reason is "not_measured", "value",
            "type" or "name".
    """
    field = _FIELDS.get(label)
    if field is None:
        values = LineValues(Kinds(), Counter())
        values.add(name_for(label), text)
        found = next(iter(values.finish().values()), None)
        if found is None:
            raise Damaged("not_measured")
        return found
    value = _value_of(label, text, field.scale)
    if field.states:
        # An unknown state is published as its number, in a string.
        value = field.states.get(int(value), str(value)) if isinstance(value, int) else str(value)
    return Measurement(field.name, value, field.unit)


def _value_of(label: str, text: str, scale: float) -> Value:
    if not text or (scale != _TEXT and is_nothing(text)) or (label, text) == _ENDLESS:
        raise Damaged("not_measured")
    if scale == _TEXT:
        return text
    if text.upper() in _TRUTH:
        return _TRUTH[text.upper()]
    number = number_of(text)
    if number is None:
        number = _hexadecimal(text)
    try:
        return scaled(number, scale=scale)
    except OutOfRange:
        raise Damaged("value") from None


def _hexadecimal(text: str) -> int:
    try:
        return int(text, 16) if text.startswith("0x") else int("")
    except ValueError:
        raise Damaged(TYPE) from None
