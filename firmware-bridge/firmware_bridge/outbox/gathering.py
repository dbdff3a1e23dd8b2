"""Decides whether the commit of a board's frame can be delayed to include later frames.

Each commit writes about ten kilobytes to the SD card, even for one frame. A board keeps its frames
until they are acknowledged, so a commit can be delayed by up to `commit_delay`. A commit must not
be delayed if the board sends its next frame only after an acknowledgement, or if the board has many
unacknowledged frames. This module does no I/O.
"""

from dataclasses import dataclass

from firmware_bridge.outbox.boards import DEVICES_MAX

# Half of the frames that a board may have unacknowledged (docs/formats/board-frame.md). It can send
# the other half while these are being committed.
FRAMES_GATHERED_MAX = 16
# A frame that arrives this soon after an acknowledgement was sent because of it: 28 bytes and
# their acknowledgement take 50 ms at 9,600 baud, and a board's program may take as long.
PROMPT_SECONDS = 0.2


@dataclass(slots=True)
class _Board:
    """Counts of the unacknowledged and acknowledged frames of one board.

    `waiting` is the number of unacknowledged frames. `answered` is the number of frames that were
    acknowledged since `waiting` last rose from 0.
    """

    waiting: int = 0
    answered: int = 0
    answered_at_seconds: float = 0.0


class Gathering:
    """Counters of the unacknowledged frames of each board on one port.

    If there are more than `DEVICES_MAX` boards, the counters of boards without unacknowledged
    frames are deleted. Times are in seconds and come from the monotonic clock.
    """

    def __init__(self) -> None:
        self._boards: dict[int, _Board] = {}

    def __len__(self) -> int:
        return len(self._boards)

    def take(self, device: int, now_seconds: float) -> bool:
        """Record a new frame. Return True if its commit can be delayed to include later frames."""
        board = self._boards.get(device)
        if board is None:
            if len(self._boards) >= DEVICES_MAX:
                self._forget_idle_boards()
            board = self._boards[device] = _Board()
        waits_for_each = False
        if not board.waiting:
            soon = now_seconds - board.answered_at_seconds < PROMPT_SECONDS
            waits_for_each = board.answered == 1 and soon
            board.answered = 0
        board.waiting += 1
        return not waits_for_each and board.waiting < FRAMES_GATHERED_MAX

    def acknowledge(self, device: int, now_seconds: float) -> None:
        """Record that a frame of the board `device` was acknowledged."""
        board = self._boards[device]
        board.waiting -= 1
        board.answered += 1
        board.answered_at_seconds = now_seconds

    def _forget_idle_boards(self) -> None:
        """Delete the counters of all boards that have no unacknowledged frames.

        If such a board sends another frame, the board is treated as new.
        """
        self._boards = {number: board for number, board in self._boards.items() if board.waiting}
