"""Decision whether a board's frame may wait for others before its commit. Pure.

Each commit costs a card some ten kilobytes, however little is in it. A board keeps its frames until
they are acknowledged, so `commit_delay` may hold their commit back, unless that would hold the
board back: one that sends its next frame only after the acknowledgement, or one that soon has on
the line all that it may.
"""

from dataclasses import dataclass

from firmware_bridge.outbox.boards import DEVICES_MAX

# Half of what a board may have unacknowledged (docs/formats/board-frame.md): the next ones are
# under way while these are being committed.
FRAMES_GATHERED_MAX = 16
# A frame that comes so soon after an acknowledgement was sent because of it: 28 bytes and their
# acknowledgement take 50 ms at 9,600 baud, and a board's program may take as long.
PROMPT_SECONDS = 0.2


@dataclass(slots=True)
class _Board:
    """`waiting`: frames taken and not acknowledged; `answered`: those of the batch before."""

    waiting: int = 0
    answered: int = 0
    answered_at_seconds: float = 0.0


class Gathering:
    """One port's boards, at most DEVICES_MAX beside those that wait. Times are of a monotonic
    clock."""

    def __init__(self) -> None:
        self._boards: dict[int, _Board] = {}

    def __len__(self) -> int:
        return len(self._boards)

    def take(self, device: int, now_seconds: float) -> bool:
        """Note a new frame; whether it may wait for others."""
        board = self._boards.get(device)
        if board is None:
            if len(self._boards) >= DEVICES_MAX:
                self._forget_the_answered()
            board = self._boards[device] = _Board()
        waits_for_each = False
        if not board.waiting:
            soon = now_seconds - board.answered_at_seconds < PROMPT_SECONDS
            waits_for_each = board.answered == 1 and soon
            board.answered = 0
        board.waiting += 1
        return not waits_for_each and board.waiting < FRAMES_GATHERED_MAX

    def acknowledge(self, device: int, now_seconds: float) -> None:
        """Note that the acknowledgement of a frame taken has left."""
        board = self._boards[device]
        board.waiting -= 1
        board.answered += 1
        board.answered_at_seconds = now_seconds

    def _forget_the_answered(self) -> None:
        """Forget the boards that have no frame unacknowledged; the outbox's limits bound the rest.

        The next frame of a forgotten board may wait for a commit as a first one does.
        """
        self._boards = {number: board for number, board in self._boards.items() if board.waiting}
