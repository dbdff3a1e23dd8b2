"""Measurements in the response of an M-Bus meter (EN 13757-3)::

    CI 72 | number (4 bytes BCD) | maker u16 | version | medium | access | status | encryption u16
    then for each value: DIF | DIFEs (optional) | VIF | VIFEs (optional) | data

The DIF specifies the number format, the storage number, and how the value was obtained, for example
as a maximum. DIFEs add the tariff and the subunit. The VIF specifies the unit and the power of ten.
Integers are little-endian.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Final

from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.protocols.mbus_extensions import meaning_of
from firmware_bridge.protocols.mbus_values import Meaning, bcd_of, clock_of, maker_of, number_of
from firmware_bridge.protocols.text_values import in_range
from firmware_bridge.readings.measurement import Measurement, Quantities, Value
from firmware_bridge.readings.names import is_name
from firmware_bridge.readings.scaling import OutOfRange, scaled

HEADER_BYTES: Final = 12
EXTENSIONS_MAX: Final = 10
"""Maximum number of DIFEs per value, and also of VIFEs. The standard has the same limit."""
MEDIA: Final = {
    0: "other", 1: "oil", 2: "electricity", 3: "gas", 4: "heat", 5: "steam", 6: "warm water",
    7: "water", 8: "heat cost", 9: "compressed air", 10: "cooling", 11: "cooling", 12: "heat",
    13: "heat and cooling", 21: "hot water", 22: "cold water", 23: "dual water", 24: "pressure",
    26: "smoke", 27: "room", 28: "gas detector", 32: "breaker", 33: "valve", 40: "waste water",
}  # fmt: skip
_FORM_BYTES: Final = {0: 0, 1: 1, 2: 2, 3: 3, 4: 4, 5: 4, 6: 6, 7: 8, 8: 0,
                      9: 1, 10: 2, 11: 3, 12: 4, 14: 6}  # fmt: skip
_FLOAT, _VARIABLE = 5, 13
_FUNCTIONS: Final = ("", "_max", "_min", "_error")
_MAKER_SPECIFIC, _MORE_FOLLOW, _FILLER = 0x0F, 0x1F, 0x2F
_TEXT_UNIT = 0x7C
_NAME_ALWAYS_VALID: Final = 48
"""Characters up to which a name from codes is valid. Other names come from the meter."""
_IN_ERROR, _NINE_NINE = 3, b"\x99"
"""DIF function of a value in the error state, and the bytes that meters then send in place of one.
"""
_ABSOLUTE_ZERO: Final = -273.15
"""Lowest temperature in °C. Below it is what some meters send without a sensor, such as 0x8001."""
_LONG_NUMBERS: Final = {0xF0: 16, 0xF1: 20, 0xF2: 24, 0xF3: 28, 0xF4: 32, 0xF5: 48, 0xF6: 64}
"""Bytes of long binary numbers, by the length code."""
_NUMBER_BYTES_MAX: Final = 8
"""Maximum bytes of a binary number that is published as a number, in 64 bits."""


@dataclass(frozen=True)
class Header:
    """The number, manufacturer, version, medium and status byte of the responding meter."""

    number: str
    maker: str
    version: int
    medium: int
    status: int

    @classmethod
    def of(cls, data: bytes) -> "Header":
        """Parse a header. Raises `Damaged` with reason "length" if it is truncated."""
        if len(data) < HEADER_BYTES:
            raise Damaged("length")
        maker = maker_of(int.from_bytes(data[4:6], "little") & 0x7FFF)
        return cls(data[3::-1].hex(), maker, data[6], data[7], data[9])

    def measurements(self) -> list[Measurement]:
        """Return the contents of the header as measurements."""
        return [
            Measurement("meter_number", self.number),
            Measurement("manufacturer", self.maker),
            Measurement("medium", MEDIA.get(self.medium, str(self.medium))),
            Measurement("meter_status", self.status),
        ]

    @property
    def prefix(self) -> str:
        """Prefix for the names of volumes: "gas_" or "water_", and "" for all other media."""
        kind = MEDIA.get(self.medium, "")
        return "water_" if kind.endswith("water") else "gas_" if kind == "gas" else ""


def read_records(data: bytes, header: Header, skipped: Counter[str]) -> tuple[Quantities, bool]:
    """Return the quantities in a meter's telegram, and whether the meter has more telegrams.

    `data` contains the bytes after the header. `skipped` counts unreadable values by reason, and
    values that are truncated after others as "length".

    Raises:
        Damaged: with reason "length" if a value is truncated, and there is none before it.
    """
    quantities: Quantities = {}
    reader = _Reader(data)
    more = False
    while not reader.is_over:
        dif = reader.byte()
        if dif == _FILLER:
            continue
        if dif & 0x7F in (_MAKER_SPECIFIC, _MORE_FOLLOW):
            more = dif & 0x7F == _MORE_FOLLOW
            break
        try:
            found = _record(dif, reader, header)
        except _SkippedRecord as missing:
            skipped[missing.reason] += 1
            continue
        except Damaged as damage:
            if not quantities:
                raise
            skipped[damage.reason] += 1
            break
        if found is not None:
            quantities.setdefault(_free_name(found.name, quantities), []).append(found)
    return {name: [_named(found[0], name)] for name, found in quantities.items()}, more


class _SkippedRecord(Exception):
    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._position = 0

    @property
    def is_over(self) -> bool:
        return self._position >= len(self._data)

    def byte(self) -> int:
        return self.take(1)[0]

    def take(self, count: int) -> bytes:
        taken = self._data[self._position : self._position + count]
        if len(taken) < count:
            raise Damaged("length")
        self._position += count
        return taken

    def extensions(self, first: int) -> list[int]:
        """Read the extension bytes (DIFEs or VIFEs) after `first`, which is a DIF or VIF.

        The highest bit of each byte is set if another extension byte follows.
        """
        found: list[int] = []
        while first & 0x80:
            if len(found) == EXTENSIONS_MAX:
                raise Damaged("length")
            first = self.byte()
            found.append(first)
        return found

    def unit_extensions(self, vif: int) -> tuple[list[int], bytes]:
        """Read the extension bytes after a VIF, and the text if the unit is written as text.

        The text begins with its length. Most meters send the text directly after the VIF, and some
        send it after the extension bytes, as later editions of the standard require.
        """
        is_text = vif & 0x7F == _TEXT_UNIT
        text = self._printable() if is_text else b""
        vifes = self.extensions(vif)
        if is_text and not text:
            text = self.take(self.byte())
        return vifes, text[::-1]

    def _printable(self) -> bytes:
        """Read a text if the next byte is the length of a printable text, otherwise nothing."""
        if self.is_over:
            return b""
        first = self._position + 1
        text = self._data[first : first + self._data[self._position]]
        if len(text) < self._data[self._position] or not text.decode("latin-1").isprintable():
            return b""
        self._position = first + len(text)
        return text


def _record(dif: int, reader: _Reader, header: Header) -> Measurement | None:
    difes = reader.extensions(dif)
    vif = reader.byte()
    vifes, text = reader.unit_extensions(vif)
    form = dif & 15
    size = _FORM_BYTES.get(form, 0)
    if form == _VARIABLE:
        size = reader.byte()
    data = reader.take(_variable_bytes(size) if form == _VARIABLE else size)
    if form in (0, 8):
        return None  # There is no value, or the meter expects a selection for readout.
    try:
        if dif >> 4 & 3 == _IN_ERROR and form > 8 and not data.strip(_NINE_NINE):
            raise Damaged("not_measured")
        meaning, suffix = meaning_of(vif, vifes, text)
        value = _text_of(data, size) if form == _VARIABLE else _value_of(data, form, meaning)
    except (Damaged, OutOfRange) as damage:
        raise _SkippedRecord(damage.reason if isinstance(damage, Damaged) else "value") from None
    name = f"{header.prefix if meaning.name == 'volume' else ''}{meaning.name}{suffix}"
    name += _suffix_of(dif, difes)
    if (text or len(name) > _NAME_ALWAYS_VALID) and not is_name(name):
        raise _SkippedRecord("name")
    return Measurement(name, value, None if isinstance(value, str) else meaning.unit)


def _suffix_of(dif: int, difes: list[int]) -> str:
    storage, tariff, subunit = dif >> 6 & 1, 0, 0
    for number, each in enumerate(difes):
        storage |= (each & 15) << (1 + 4 * number)
        tariff |= (each >> 4 & 3) << (2 * number)
        subunit |= (each >> 6 & 1) << number
    return (
        _FUNCTIONS[dif >> 4 & 3]
        + (f"_t{tariff}" if tariff else "")
        + (f"_unit_{subunit}" if subunit else "")
        + (f"_storage_{storage}" if storage else "")
    )


def _value_of(data: bytes, form: int, meaning: Meaning) -> Value:
    if meaning.form == "time" and form < 8:
        return clock_of(data)
    if meaning.form == "bits" and form < 8:
        return in_range(int.from_bytes(data, "little"))
    if meaning.form not in ("number", "bits"):
        return data[::-1].hex() if form > 8 else _number_in_text(data, form)
    value = in_range(
        scaled(number_of(data, form), scale=meaning.factor, power_of_ten=meaning.power_of_ten)
    )
    if meaning.unit == "Cel" and value < _ABSOLUTE_ZERO:
        raise Damaged("not_measured")
    return value


def _number_in_text(data: bytes, form: int) -> str:
    """Return a binary number that identifies something, such as the meter. It has no sign."""
    return str(number_of(data, form) if form == _FLOAT else int.from_bytes(data, "little"))


def _variable_bytes(size: int) -> int:
    """Return the number of bytes in a value of variable length. `size` is its length code.

    Raises `Damaged` with reason "length" if the length code is unknown.
    """
    for first, last in ((0x00, 0xBF), (0xC0, 0xCF), (0xD0, 0xDF), (0xE0, 0xEF)):
        if first <= size <= last:
            return size - first
    if size in _LONG_NUMBERS:
        return _LONG_NUMBERS[size]
    raise Damaged("length")


def _text_of(data: bytes, size: int) -> Value:
    """Decode a value of variable length: a text, a BCD number or a binary number.

    Meters fill texts up with blanks or zeros.
    """
    if size < 0xC0:
        text = data[::-1].decode("latin-1").strip(" \0")
        if not text:
            raise Damaged("not_measured")
        return text if text.isprintable() else data[::-1].hex()
    if size < 0xE0:
        number = bcd_of(data) if data else 0
        return in_range(-number if size >= 0xD0 else number)
    if len(data) > _NUMBER_BYTES_MAX:
        return data[::-1].hex()
    return in_range(int.from_bytes(data, "little", signed=True))


def _free_name(name: str, taken: Quantities) -> str:
    number = 2
    free = name
    while free in taken:
        free, number = f"{name}_{number}", number + 1
    return free


def _named(found: Measurement, name: str) -> Measurement:
    return Measurement(name, found.value, found.unit)
