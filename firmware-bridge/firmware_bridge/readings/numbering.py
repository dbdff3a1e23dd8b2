"""Sequence numbers that identify frames, and are published together with their readings."""

from dataclasses import dataclass

# Devices that number their own readings have names with this prefix. No other device may have such
# a name, or sequence numbers would occur twice.
BOARD_DEVICE_PREFIX = "board-"


@dataclass(frozen=True, slots=True)
class BoardIdentity:
    """Identity of a frame from a board.

    `device` is the board, `boot` counts the starts of the board, and `sequence` is the frame's
    number since the start, from 1.
    """

    device: int
    boot: int
    sequence: int

    @property
    def device_name(self) -> str:
        """The board's name, as it is used in topics."""
        return f"{BOARD_DEVICE_PREFIX}{self.device:08x}"


@dataclass(frozen=True, slots=True)
class Numbering:
    """Device, boot number and sequence number, which identify the readings of a frame.

    Each record of a SenML payload includes these three fields.
    """

    device: str
    boot: int
    sequence: int
