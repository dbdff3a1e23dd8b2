"""Checks the structure of SenML packs before they are decoded.

A pack is a list of readings that is encoded in CBOR (RFC 8949). Each CBOR item begins with one
byte, `major << 5 | info`, and an argument of 0, 1, 2, 4 or 8 bytes. The major types are::

    0 unsigned | 1 negative | 2 bytes | 3 text | 4 array | 5 map | 6 tag | 7 floats, simple

Tags are dangerous in untrusted data. A CBOR library converts tagged items to dates, sets, regular
expressions, integers of any length, and values that contain themselves. The only tag that a pack
needs is tag 4, which marks a decimal fraction.
"""

from firmware_bridge.protocols.frame import Damaged

# A pack is an array of maps of numbers and strings. A decimal fraction adds an array.
DEPTH_MAX = 4
# The exponents of floats reach 308; a few more for fractions with many digits.
EXPONENT_MAX = 400

_UNSIGNED, _NEGATIVE, _BYTES, _TEXT, _ARRAY, _MAP, _TAG, _OTHER = range(8)
_INTEGERS = (_UNSIGNED, _NEGATIVE)
_DECIMAL_FRACTION = 4
_LONG_INTEGERS = (2, 3)
_INDEFINITE = 31
_ARGUMENT_BYTES = {24: 1, 25: 2, 26: 4, 27: 8}
_BREAK = 0xFF
_SIMPLE = (20, 21, 22, 23, 25, 26, 27)  # false, true, null, undefined, floats of 2, 4, 8 bytes


def check_shape(pack: bytes) -> None:
    """Check that a pack is one complete CBOR item that contains only the types that SenML needs.

    Raises:
        Damaged: with reason "cbor" if the item is incomplete or nested too deeply, "value" if an
            integer has more than 64 bits or an exponent is too large, or "senml" if a type is not
            allowed.
    """
    if _end_of_item(pack, 0, DEPTH_MAX) != len(pack):
        raise Damaged("cbor")


def _end_of_item(pack: bytes, at: int, depth: int) -> int:
    if depth < 0:
        raise Damaged("cbor")
    major, info, argument, at = _head(pack, at)
    if major in _INTEGERS:
        return at
    if major in (_BYTES, _TEXT):
        return _end_of_string(pack, at, major, argument)
    if major in (_ARRAY, _MAP):
        return _end_of_container(pack, at, major, argument, depth)
    if major == _TAG:
        if argument != _DECIMAL_FRACTION:
            raise Damaged("value" if argument in _LONG_INTEGERS else "senml")
        return _end_of_decimal_fraction(pack, at)
    if info not in _SIMPLE:
        raise Damaged("senml")
    return at


def _head(pack: bytes, at: int) -> tuple[int, int, int | None, int]:
    """Parse the first byte and the argument of the item at the position `at`.

    Return the major type, the info bits, the argument, and the position after the argument. The
    argument is None for an item of indefinite length.

    Raises:
        Damaged: with reason "cbor" if the item is truncated or invalid.
    """
    if at >= len(pack):
        raise Damaged("cbor")
    major, info = pack[at] >> 5, pack[at] & 31
    at += 1
    if info < 24:
        return major, info, info, at
    if info == _INDEFINITE and _BYTES <= major <= _MAP:
        return major, info, None, at
    size = _ARGUMENT_BYTES.get(info)
    if size is None or at + size > len(pack):
        raise Damaged("cbor")
    return major, info, int.from_bytes(pack[at : at + size], "big"), at + size


def _end_of_string(pack: bytes, at: int, major: int, length: int | None) -> int:
    if length is not None:
        if at + length > len(pack):
            raise Damaged("cbor")
        return at + length
    while not _is_break(pack, at):
        part_major, _, part_length, at = _head(pack, at)
        if part_major != major or part_length is None:
            raise Damaged("cbor")
        at = _end_of_string(pack, at, major, part_length)
    return at + 1


def _end_of_container(pack: bytes, at: int, major: int, count: int | None, depth: int) -> int:
    done = 0
    while done != count if count is not None else not _is_break(pack, at):
        if major == _MAP:
            if _head(pack, at)[0] not in (*_INTEGERS, _TEXT):
                raise Damaged("senml")
            at = _end_of_item(pack, at, depth - 1)
        at = _end_of_item(pack, at, depth - 1)
        done += 1
    return at if count is not None else at + 1


def _end_of_decimal_fraction(pack: bytes, at: int) -> int:
    major, _, count, at = _head(pack, at)
    if major != _ARRAY or count != 2:
        raise Damaged("senml")
    exponent_major, _, exponent, at = _head(pack, at)
    mantissa_major, _, _, at = _head(pack, at)
    if exponent_major not in _INTEGERS or mantissa_major not in _INTEGERS:
        raise Damaged("senml")
    if exponent is None or exponent > EXPONENT_MAX:
        raise Damaged("value")
    return at


def _is_break(pack: bytes, at: int) -> bool:
    if at >= len(pack):
        raise Damaged("cbor")
    return pack[at] == _BREAK
