"""Device names of boards, which contain the board's number in hexadecimal."""

from firmware_bridge.readings.names import is_name
from firmware_bridge.readings.numbering import BOARD_DEVICE_PREFIX, BoardIdentity


def test_a_board_is_called_by_its_number_in_hexadecimal() -> None:
    assert BoardIdentity(42, 1, 1).device_name == "board-0000002a"
    largest = BoardIdentity(2**32 - 1, 1, 1).device_name
    assert largest.startswith(BOARD_DEVICE_PREFIX)
    assert is_name(largest)
