"""Protocol for binary frames that the configuration describes: start, length, fields, checksum::

    start | ... | length u8 or u16 | ... | fields ... | checksum | end

Instead of a length field, `frame_bytes` can set a fixed length for all frames. For example, the
PMS5003 dust sensor sends the start bytes 42 4D, a u16 with the number of following bytes, u16
values, and the sum of all preceding bytes.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

from firmware_bridge.protocols.checksums import CHECKSUMS
from firmware_bridge.protocols.declared_field import FrameField, values_of
from firmware_bridge.protocols.fixed_request import FIXED_REQUEST_DESCRIPTIONS, FixedRequestSettings
from firmware_bridge.protocols.frame import Damaged, Frame
from firmware_bridge.protocols.scanning import ScanningDecoder
from gateway.process.declarations.quantities import Items, Text, Whole, refusal

# Sensors' frames have 4 to 64 bytes. For each false start in noise, the checksum of up to this many
# bytes is computed.
FRAME_BYTES_MAX = 256

_HEX = r"[0-9A-Fa-f]{2}( ?[0-9A-Fa-f]{2}){0,7}"
_HEX_ALLOWED = '1 to 8 bytes in hexadecimal digits, like "42 4D"'
_LENGTH_BYTES = {"u8": 1, "u16": 2}

Hex = Annotated[str, Text(_HEX, _HEX_ALLOWED)]


@dataclass(frozen=True, kw_only=True)
class DeclaredFrames(FixedRequestSettings):
    """Settings for binary frames: their start, length, fields and checksum."""

    is_binary: ClassVar = True
    descriptions: ClassVar = {
        "start": "Bytes with which each frame begins.",
        "end": "Bytes with which each frame ends, after the checksum.",
        "byte_order": "Order of the bytes in a number.",
        "frame_bytes": "Number of bytes of each frame, from start to end. Set either this or "
        "length_at.",
        "length_at": "Position of the length field: the count of bytes before it. Set either this "
        "or frame_bytes.",
        "length_type": "Format of the length field.",
        "length_adds": "Bytes to add to the length field for the length of the whole frame.",
        "checksum": "Type of the checksum before the end of the frame.",
        "checksum_from": "Position of the first byte that the checksum covers.",
        "checksum_order": "Order of the bytes of the checksum. Default: byte_order.",
        "fields": "Quantities in a frame.",
        **FIXED_REQUEST_DESCRIPTIONS,
    }

    start: Hex
    end: Hex | None = None
    byte_order: Literal["big", "little"] = "big"
    frame_bytes: Annotated[int, Whole(2, FRAME_BYTES_MAX)] | None = None
    length_at: Annotated[int, Whole(1, FRAME_BYTES_MAX - 1)] | None = None
    length_type: Literal["u8", "u16"] = "u8"
    length_adds: Annotated[int, Whole(-FRAME_BYTES_MAX, FRAME_BYTES_MAX)] = 0
    checksum: Literal[
        "none",
        "sum8",
        "sum8_negated",
        "xor8",
        "sum16",
        "sum16_negated",
        "crc16_arc",
        "crc16_modbus",
        "crc16_ccitt_false",
        "crc16_xmodem",
        "crc16_kermit",
        "crc16_x25",
        "crc32",
    ]
    checksum_from: Annotated[int, Whole(0, FRAME_BYTES_MAX - 1)] = 0
    checksum_order: Literal["big", "little"] | None = None
    fields: Annotated[tuple[FrameField, ...], Items(1)]

    def check(self) -> None:
        """Check that the frame length is set exactly once, and that all fields fit in a frame.

        Also check that no two fields have the same name.
        """
        super().check()
        if (self.frame_bytes is None) == (self.length_at is None):
            raise refusal("either frame_bytes or length_at: each of them sets the length")
        names = [field.name for field in self.fields]
        for name in names:
            if names.count(name) > 1:
                raise refusal(f'"{name}" once in fields, not several times')
        if self.frame_bytes is not None:
            room = self.frame_bytes - self.bytes_after_fields
            for field in self.fields:
                if field.end > room:
                    raise refusal(
                        f'a larger frame_bytes: field "{field.name}" ends at byte {field.end}, '
                        f"but only {room} bytes precede the checksum and the end"
                    )

    @property
    def units(self) -> tuple[str | None, ...]:
        """The units of all fields, or None for a field without a unit."""
        return tuple(each.unit for each in self.fields)

    def value_names(self, device: str) -> frozenset[str]:
        """Return the names of all fields. They do not depend on `device`."""
        return frozenset(each.name for each in self.fields)

    @property
    def start_bytes(self) -> bytes:
        """The start bytes of each frame, decoded from hexadecimal digits."""
        return bytes.fromhex(self.start)

    @property
    def end_bytes(self) -> bytes:
        """The end bytes of each frame, if any, decoded from hexadecimal digits."""
        return bytes.fromhex(self.end or "")

    @property
    def bytes_after_fields(self) -> int:
        """The number of bytes after the fields: the checksum and the end bytes."""
        return CHECKSUMS[self.checksum].bytes_count + len(self.end_bytes)

    @property
    def frame_bytes_min(self) -> int:
        """The number of bytes in the shortest frame that contains all fields."""
        return max(field.end for field in self.fields) + self.bytes_after_fields

    def decoder(self) -> "DeclaredDecoder":
        """Create a decoder for one serial line."""
        return DeclaredDecoder(self)


class DeclaredDecoder(ScanningDecoder):
    """Decoder of the frames that the settings declare."""

    def __init__(self, settings: DeclaredFrames) -> None:
        super().__init__(settings.start_bytes)
        self._settings = settings
        self._end = settings.end_bytes
        self._checksum = CHECKSUMS[settings.checksum]
        self._checksum_order = settings.checksum_order or settings.byte_order

    def end_of(self, buffer: bytes, position: int) -> int | None:
        """Return the position after the frame that begins at `position`.

        Return None if the length field of the frame is incomplete.

        Raises:
            Damaged: with reason "length" if the length field is out of range.
        """
        settings = self._settings
        if settings.frame_bytes is not None:
            return position + settings.frame_bytes
        assert settings.length_at is not None, "the settings give one of them"
        at = position + settings.length_at
        length = buffer[at : at + _LENGTH_BYTES[settings.length_type]]
        if len(length) < _LENGTH_BYTES[settings.length_type]:
            return None
        frame_bytes = int.from_bytes(length, settings.byte_order) + settings.length_adds
        if not settings.frame_bytes_min <= frame_bytes <= FRAME_BYTES_MAX:
            raise Damaged("length")
        return position + frame_bytes

    def read_frame(self, data: bytes) -> Frame | None:
        """Check the end bytes and the checksum of a frame, and decode its fields.

        Raises:
            Damaged: with reason "end" if the end bytes are wrong, "checksum" if the checksum is
                wrong, or "value" if a number is out of range.
        """
        if not data.endswith(self._end):
            raise Damaged("end")
        content = data[: len(data) - len(self._end)]
        covered = len(content) - self._checksum.bytes_count
        found = int.from_bytes(content[covered:], self._checksum_order)
        if found != self._checksum.of(content[self._settings.checksum_from : covered]):
            raise Damaged("checksum")
        skipped: Counter[str] = Counter()
        fields, order = self._settings.fields, self._settings.byte_order
        quantities = values_of(fields, content[:covered], order, skipped)
        self.tally.skipped.update(skipped)
        return Frame(quantities) if quantities else None
