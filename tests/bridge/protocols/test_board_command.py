"""Commands to boards: names, arguments, frames."""

import pytest
from cobs import cobs  # type: ignore[import-untyped]
from firmware_bridge.protocols.board import BoardDecoder
from firmware_bridge.protocols.board_command import BoardCommand, argument_of, command_of
from firmware_bridge.protocols.board_frame import (
    acknowledgement_of,
    answer_bytes_of,
    command_bytes_of,
    read_acknowledgement,
    read_command,
)
from firmware_bridge.protocols.frame import Damaged
from firmware_bridge.readings.numbering import BoardIdentity

IDENTITY = BoardIdentity(42, 1, 7)


def test_a_command_has_its_name_in_lower_case_and_nothing_else() -> None:
    assert command_of("set_interval") is BoardCommand.SET_INTERVAL
    assert command_of("identify") is BoardCommand.IDENTIFY
    assert command_of("SET_INTERVAL") is None
    assert command_of("") is None


@pytest.mark.parametrize("payload", [b"", b"0", b"-1", b"1.5", b"86400001", b"9" * 5000, b"\xb2"])
def test_an_argument_that_is_no_time_is_refused(payload: bytes) -> None:
    assert argument_of(payload) is None


def test_an_argument_is_a_decimal_integer() -> None:
    assert (argument_of(b"1"), argument_of(b"86400000")) == (1, 86_400_000)


def test_a_command_is_read_as_it_was_written_and_is_no_acknowledgement() -> None:
    stuffed = command_bytes_of(IDENTITY, 1, 500).strip(b"\x00")
    assert cobs.decode(stuffed)[:-2].hex() == "820000002a000000010000000701000001f4"
    assert read_command(stuffed) == (IDENTITY, 1, 500)
    with pytest.raises(Damaged):
        read_acknowledgement(stuffed)
    with pytest.raises(Damaged):
        read_command(acknowledgement_of(IDENTITY).strip(b"\x00"))


def test_an_answer_has_its_code_and_no_reading() -> None:
    (frame,) = BoardDecoder().feed(answer_bytes_of(IDENTITY, 2))
    assert (frame.identity, frame.answer_code, frame.quantities) == (IDENTITY, 2, {})
