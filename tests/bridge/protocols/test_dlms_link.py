"""Frames of HDLC and M-Bus that carry DLMS messages."""

import pytest
from firmware_bridge.protocols.checksums import crc16_x25
from firmware_bridge.protocols.dlms_link import Part, end_of_frame, part_of
from firmware_bridge.protocols.frame import Damaged

from tests.bridge.protocols.dlms_meter import hdlc, mbus


def test_the_check_of_a_header_is_that_of_a_real_meter() -> None:
    # The header of list 1 of a Norwegian Kaifa meter, and the header's HCS.
    assert crc16_x25(bytes.fromhex("A02701020110")) == 0x875A


def test_a_part_has_what_its_frame_shows() -> None:
    assert part_of(hdlc(b"abc")[:-1]) == Part(b"abc", True, True)
    assert part_of(hdlc(b"abc", is_first=False, is_last=False)[:-1]) == Part(b"abc", None, False)
    assert part_of(mbus(b"abc", 0, is_last=False)) == Part(b"abc", True, False)
    assert part_of(mbus(b"abc", 1, is_last=True)) == Part(b"abc", False, True)


@pytest.mark.parametrize("frame", [hdlc(b"abc")[:-1], mbus(b"abc", 0, is_last=True)])
def test_a_frame_with_a_changed_byte_is_damage(frame: bytes) -> None:
    for at in range(5, len(frame)):
        with pytest.raises(Damaged, match="checksum"):
            part_of(frame[:at] + bytes((frame[at] ^ 1,)) + frame[at + 1 :])


def test_the_end_of_a_frame_is_known_from_its_length() -> None:
    frame = hdlc(b"abc")
    assert end_of_frame(frame, 0) == len(frame) - 1
    assert end_of_frame(frame[:-1], 0) == len(frame)
    assert [end_of_frame(frame[:end], 0) for end in (1, 2)] == [None, None]
    assert end_of_frame(b"\x7e\x7e", 0) == 0
    assert end_of_frame(b"\x7e\xa0\x02", 0) == 0
    telegram = mbus(b"abc", 0, is_last=True)
    assert [end_of_frame(telegram[:end], 0) for end in range(1, 4)] == [None] * 3
    assert end_of_frame(telegram, 0) == len(telegram)
    assert end_of_frame(b"h\x01\x02", 0) == 0
    with pytest.raises(Damaged, match="truncated"):
        end_of_frame(frame[:-1] + b"x", 0)


def test_addresses_without_an_end_are_damage() -> None:
    content = bytes.fromhex("A00B 02020202 02 13")
    content += crc16_x25(content).to_bytes(2, "little")
    with pytest.raises(Damaged, match="dlms"):
        part_of(b"\x7e" + content)
