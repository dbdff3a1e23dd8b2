"""Decodes the messages of an SML file, and returns the values in value lists (SML_GetList.Res).

Each element begins with a byte for its type and length::

    more (1 bit) | type (3 bits) | length (4 bits)

If `more` is set, another byte follows with 4 more bits of the length. The types are 0 for bytes, 4
for Booleans, 5 for signed integers, 6 for unsigned integers, and 7 for lists. The length of a list
is its number of elements. All other lengths are in bytes, and include the bytes for the type and
length. 0x00 ends a message.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Final, Self

from firmware_bridge.protocols.cosem import UNITS_OF_DLMS, text_of
from firmware_bridge.protocols.frame import TYPE, Damaged
from firmware_bridge.protocols.obis import Code, is_number, name_of
from firmware_bridge.readings.measurement import INTEGER_MAX, Measurement, Quantities, Value
from firmware_bridge.readings.scaling import OutOfRange, scaled

_GET_LIST_RESPONSE = 0x0701
_MESSAGE_ELEMENTS = 6
_LIST_ELEMENTS = 7
_ENTRY_ELEMENTS = 7
_CODE_BYTES = 6
_DEPTH_MAX = 8
_LENGTH_BYTES_MAX = 3
_END_OF_MESSAGE = b"\x00"
_BYTES, _TRUTH, _INTEGER, _UNSIGNED, _LIST = 0, 4, 5, 6, 7
_POWER_OF_TEN_MAX = 18

Element = bytes | bool | int | list["Element"] | None
"""A decoded element. A missing optional element is None."""

_DZG, _DZG_FIXED_FROM = b"\x0a\x01DZG", 60_000_000
_POWERS: Final = ("power", "power_l1", "power_l2", "power_l3")
_STATUS_OF: Final = ("energy_import", "energy_export")
"""Quantities whose status word describes the whole meter. The first status word found is used."""
_EDL_EXPORTS: Final = 0x20
_EDL_STATUS_MAX: Final = 0xFFFFFF
"""Largest status word of meters that follow FNN's EDL specification. Larger words have other
meanings."""
_BASIC_METER, _BASIC_METER_EXPORTS = 0x04, 0x800
"""Lowest byte of each status word of FNN's basic meter, and its bit for the direction of power."""


def read_messages(data: bytes, skipped: Counter[str]) -> Quantities:
    """Return the values in the messages of an SML file.

    If an entry of a value list is unreadable, the other entries are still read. `skipped` counts
    unreadable entries by reason: "sml" if the structure is invalid, "value" if a number is out of
    range, and "type" if an entry has bytes instead of a number.

    Raises:
        Damaged: with reason "sml" if a message is invalid and no value was read before it.
    """
    quantities: Quantities = {}
    statuses: dict[str, int] = {}
    try:
        for entry, server in _entries_of(data, skipped):
            try:
                code, its_status, measurement = _reading_of_entry(
                    entry, server, _status_in(statuses)
                )
            except Damaged as damage:
                skipped[damage.reason] += 1
                continue
            if measurement is not None:
                quantities.setdefault(measurement.name, []).append(measurement)
            if its_status is not None:
                statuses.setdefault(name_of(code), its_status)
    except Damaged as damage:
        if not quantities:
            raise
        skipped[damage.reason] += 1
    for each in _status_values(_status_in(statuses), quantities):
        quantities[each.name] = [each]
    return quantities


def _status_in(statuses: Mapping[str, int]) -> int | None:
    return next((statuses[each] for each in _STATUS_OF if each in statuses), None)


def _status_values(status: int | None, quantities: Quantities) -> Iterator[Measurement]:
    """Yield a meter's status word and, if it contains the direction of power, the signed power.

    Two-way meters such as EMH's ED300L, Honeywell's AS2020 and older Holley meters send the power
    without a sign. A power that is already negative is not changed. If the meter sends only
    `power_absolute`, the direction is yielded too.
    """
    if status is None:
        return
    yield Measurement("meter_status", status)
    is_signed = "power" in quantities
    exports = _exports(status, is_basic_meter=is_signed)
    found = quantities.get("power") or quantities.get("power_absolute")
    if exports is None or not found or not isinstance(found[0].value, int | float):
        return
    amount = found[0].value
    if not is_signed:
        yield Measurement("power_direction", "export" if exports else "import")
    yield Measurement("power", -amount if exports and amount > 0 else amount, found[0].unit)


def _exports(status: int, *, is_basic_meter: bool) -> bool | None:
    """Return True if a status word indicates export, False for import, or None for neither.

    The bit for the direction differs between basic meters, which send the quantity `power`, and EDL
    meters, which send `power_absolute`. The argument `is_basic_meter` is True for meters that send
    `power`.
    """
    if status & 0xFF == _BASIC_METER and status > 0xFF:
        return bool(status & _BASIC_METER_EXPORTS)
    if is_basic_meter or status > _EDL_STATUS_MAX:
        return None
    return bool(status & _EDL_EXPORTS)


def _entries_of(data: bytes, skipped: Counter[str]) -> Iterator[tuple[Element, Element]]:
    """Yield each entry of the value lists in an SML file, with the identifier of its meter."""
    position = 0
    while position < len(data):
        if data[position : position + 1] == _END_OF_MESSAGE:
            position += 1  # Some meters send zeros between messages.
            continue
        message, position = _element_at(data, position, _DEPTH_MAX)
        body = _list_of(message, _MESSAGE_ELEMENTS)[3]
        tag, content = _list_of(body, 2)
        if tag == _GET_LIST_RESPONSE:
            try:
                _, server, _, _, entries, _, _ = _list_of(content, _LIST_ELEMENTS)
            except Damaged as damage:
                skipped[damage.reason] += 1
                continue
            if isinstance(entries, list):
                yield from ((entry, server) for entry in entries)
            elif entries is not None:
                skipped["sml"] += 1


def _list_of(element: Element, count: int) -> list[Element]:
    if not isinstance(element, list) or len(element) != count:
        raise Damaged("sml")
    return element


def _element_at(data: bytes, position: int, depth: int) -> tuple[Element, int]:
    """Decode the element at `position`. Return the element and the position after it."""
    begin = position
    kind, length, position = _head_at(data, position)
    if kind == _LIST:
        if depth == 0 or length > len(data) - position:
            raise Damaged("sml")
        elements: list[Element] = []
        for _ in range(length):
            element, position = _element_at(data, position, depth - 1)
            elements.append(element)
        return elements, position
    end = max(begin + length, position)
    content = data[position:end]
    if len(content) != end - position:
        raise Damaged("sml")
    return _value_of(kind, content), end


def _head_at(data: bytes, position: int) -> tuple[int, int, int]:
    """Parse the head of an element.

    Return the type and the length of the element, and the position of its content.
    """
    if position >= len(data):
        raise Damaged("sml")
    kind, length = data[position] >> 4 & 7, data[position] & 15
    begin = position
    while data[position] & 0x80:
        position += 1
        if position >= len(data) or position - begin >= _LENGTH_BYTES_MAX:
            raise Damaged("sml")
        length = length << 4 | data[position] & 15
    return kind, length, position + 1


def _value_of(kind: int, content: bytes) -> Element:
    if kind == _BYTES:
        return content or None
    if not 1 <= len(content) <= 8:
        return []  # A list is invalid in every entry, so only the entry of this value is skipped.
    if kind == _TRUTH:
        return content != b"\x00"
    if kind in (_INTEGER, _UNSIGNED):
        number = int.from_bytes(content, "big", signed=kind == _INTEGER)
        return _Shortened(number, len(content)) if number < 0 and len(content) < 4 else number
    return []


class _Shortened(int):
    """A negative integer of fewer than 4 bytes, which may actually be positive.

    Some meters omit the leading zero bytes of a positive number. If the first remaining bit is set,
    the number looks negative.
    """

    def __new__(cls, number: int, bytes_count: int) -> Self:
        """Create the integer. Its attribute `unsigned` is the unsigned value of the same bytes."""
        found = super().__new__(cls, number)
        found.unsigned = number + (1 << 8 * bytes_count)
        return found

    unsigned: int


def _omits_zeros(server: Element, status: int | None) -> bool:
    """Return True if a meter omits the leading zero bytes of a positive power.

    `server` is the identifier of the meter, and `status` is its status word. DZG meters with a
    serial number below 60,000,000 do this: they send 200 W as C8, which is -56 as a signed byte.
    DWSB and DVSB send negative powers in few bytes too. The status word then means export.
    """
    if not isinstance(server, bytes) or not server.startswith(_DZG):
        return False
    exports = status is not None and _exports(status, is_basic_meter=True)
    return not exports and int.from_bytes(server[-4:]) < _DZG_FIXED_FROM


def _reading_of_entry(
    entry: Element, server: Element, meter_status: int | None
) -> tuple[Code, int | None, Measurement | None]:
    """Return the OBIS code, the status word and the measurement of a list entry.

    The status word is None if it is missing. The measurement is None if the entry has no value.
    `server` is the identifier of the meter, and `meter_status` is the status word in an entry
    before this one.

    Raises:
        Damaged: with reason "sml", "value" or "type" if the entry cannot be read.
    """
    code, status, _, unit, scaler, value, _ = _list_of(entry, _ENTRY_ELEMENTS)
    if not isinstance(code, bytes) or len(code) != _CODE_BYTES:
        raise Damaged("sml")
    found = Code.of([str(each) for each in code])
    if value is None:
        return found, _status_of(status), None
    if isinstance(value, _Shortened):
        is_positive = name_of(found) in _POWERS and _omits_zeros(server, meter_status)
        value = value.unsigned if is_positive else int(value)
    reading = _reading_of(value, scaler)
    if is_number(found) and isinstance(reading, bool | str):
        raise Damaged(TYPE)
    return found, _status_of(status), Measurement(name_of(found), reading, _unit_of(unit))


def _status_of(status: Element) -> int | None:
    """Return a status word as an integer, or None if it is missing or has more than 63 bits.

    Some meters send the status word as bytes.
    """
    if isinstance(status, bytes):
        status = int.from_bytes(status)
    if isinstance(status, bool) or not isinstance(status, int) or abs(status) > INTEGER_MAX:
        return None
    return int(status)


def _unit_of(unit: Element) -> str | None:
    return UNITS_OF_DLMS.get(unit) if isinstance(unit, int) else None


def _reading_of(value: Element, scaler: Element) -> Value:
    if isinstance(value, bytes):
        return text_of(value)
    if isinstance(value, bool):
        return value
    if not isinstance(value, int):
        raise Damaged("sml")
    if scaler is None:
        scaler = 0
    if isinstance(scaler, bool) or not isinstance(scaler, int):
        raise Damaged("sml")
    if abs(scaler) > _POWER_OF_TEN_MAX:
        raise Damaged("value")
    try:
        return scaled(value, power_of_ten=scaler)
    except OutOfRange:
        raise Damaged("value") from None
