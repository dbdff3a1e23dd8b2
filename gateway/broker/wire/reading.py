"""The `Reader`, which reads a packet's fields in order and never beyond the packet's end.

A Reader reads a buffer between `position` and `stop`. Its methods take the name of a field, for
error messages, and raise Malformed if the field is invalid. For speed, short acknowledgements and
well-formed PUBLISH packets are decoded without a Reader.
"""

from gateway.broker.wire import malformed as wrong
from gateway.broker.wire.codes import PROTOCOL_ERROR
from gateway.broker.wire.malformed import Malformed


def text_of(raw: bytes, where: str) -> str:
    """Decode a UTF-8 string and check it as the standard requires.

    `where` names the field in error messages. Raises Malformed if the string is invalid.
    """
    text = ""
    failed_at = -1
    try:
        # [MQTT-1.5.3-1] [MQTT5-1.5.4-1] Python's decoder refuses surrogates and overlong forms,
        # and [MQTT-1.5.3-3] [MQTT5-1.5.4-3] it leaves a byte order mark where it is.
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        failed_at = error.start
    # Raised outside the except block, because an exception context would keep the bytes alive.
    if failed_at >= 0:
        raise Malformed(
            wrong.STRING_ENCODING,
            f"{where} is not UTF-8 at byte {failed_at}: expected well-formed UTF-8",
        )
    # [MQTT-1.5.3-2] [MQTT5-1.5.4-2]
    if "\0" in text:
        raise Malformed(
            wrong.STRING_ENCODING,
            f"{where} contains U+0000: expected text without the null character",
        )
    return text


class Reader:
    """A reader of a packet's body. The unread part of the body is data[position:stop]."""

    def __init__(self, data: bytes, position: int, stop: int, packet_name: str) -> None:
        self.data = data
        self.position = position
        self.stop = stop
        self.packet_name = packet_name

    def truncated(self, field: str, wanted_bytes: int) -> Malformed:
        return Malformed(
            wrong.FIELD_TRUNCATED,
            f"{self.packet_name} ends inside its {field}: expected {wanted_bytes} bytes, "
            f"{self.stop - self.position} are left",
        )

    def at_end(self) -> bool:
        return self.position >= self.stop

    def byte(self, field: str) -> int:
        position = self.position
        if position >= self.stop:
            raise self.truncated(field, 1)
        self.position = position + 1
        return self.data[position]

    def two_bytes(self, field: str) -> int:
        position = self.position
        if position + 2 > self.stop:
            raise self.truncated(field, 2)
        self.position = position + 2
        data = self.data
        return data[position] << 8 | data[position + 1]

    def four_bytes(self, field: str) -> int:
        if self.position + 4 > self.stop:
            raise self.truncated(field, 4)
        return self.two_bytes(field) << 16 | self.two_bytes(field)

    def variable_byte_integer(self, field: str) -> int:
        """Read an integer of one to four bytes with seven bits each, least significant first.

        If bit 7 of a byte is set, another byte follows. Raises Malformed if the integer is invalid.
        """
        first = self.byte(field)
        if first < 0x80:
            return first
        value = first & 0x7F
        shift = 7
        while True:
            byte = self.byte(field)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
            if shift > 21:
                raise Malformed(
                    wrong.REMAINING_LENGTH,
                    f"{field} of {self.packet_name} has more than 4 bytes: expected at most 4",
                )
        # [MQTT5-1.5.5-1] only MQTT 5.0 has such integers inside a packet
        if byte == 0:
            raise Malformed(
                wrong.REMAINING_LENGTH,
                f"{field} of {self.packet_name} is not written in as few bytes as possible",
            )
        return value

    def packet_id(self) -> int:
        packet_id = self.two_bytes("packet identifier")
        # [MQTT-2.3.1-1] [MQTT5-2.2.1-3]
        if packet_id == 0:
            raise Malformed(
                wrong.PACKET_ID_ZERO,
                f"{self.packet_name} has packet identifier 0: expected 1 to 65535",
                PROTOCOL_ERROR,
            )
        return packet_id

    def binary(self, field: str) -> bytes:
        length = self.two_bytes(field)
        start = self.position
        end = start + length
        if end > self.stop:
            raise self.truncated(field, length)
        self.position = end
        return self.data[start:end]

    def string(self, field: str) -> str:
        return text_of(self.binary(field), f"{field} of {self.packet_name}")

    def finish(self) -> None:
        """Check that no bytes remain after the last field. Raises Malformed if there are any."""
        if self.position < self.stop:
            raise Malformed(
                wrong.TRAILING_BYTES,
                f"{self.packet_name} has {self.stop - self.position} bytes after its last field: "
                "expected none",
            )
