"""Numbers of readings: those that a board assigns, and those under which readings are published."""

from dataclasses import dataclass

# Devices that number their own readings have names of this form; no other device may, or numbers
# would come twice.
BOARD_DEVICE_PREFIX = "board-"


@dataclass(frozen=True, slots=True)
class BoardIdentity:
    """Identity of a board's frame: the board, its count of starts, the frame's number from 1."""

    device: int
    boot: int
    sequence: int

    @property
    def device_name(self) -> str:
        """The board's name in topics."""
        return f"{BOARD_DEVICE_PREFIX}{self.device:08x}"


@dataclass(frozen=True, slots=True)
class Numbering:
    """`(device, boot, sequence)` of a frame, as every record of its payloads has it."""

    device: str
    boot: int
    sequence: int
