"""Which frames of which boards have been accepted, over restarts of either side. Pure.

Remembered for each start of each board, also when its readings have long left the outbox: a board
that missed an acknowledgement sends the frame again, whenever that is.
"""

from collections.abc import Iterable

from firmware_bridge.accepted_sequences import AcceptedSequences
from firmware_bridge.framings.frames import BoardIdentity

# A gateway's serial lines carry tens of boards; more are noise that passed the CRC.
DEVICES_MAX = 1024
# A board resends frames of its own latest start only; a few more for boards swapped to and fro.
BOOTS_PER_DEVICE_MAX = 8


class Boards:
    def __init__(self, rows: Iterable[tuple[int, int, str]] = ()) -> None:
        """`rows`: device, boot, accepted sequences, each device's latest start last."""
        self._devices: dict[int, dict[int, AcceptedSequences]] = {}
        self.changed: set[tuple[int, int]] = set()
        self.removed: set[tuple[int, int]] = set()
        for device, boot, accepted in rows:
            self._devices.setdefault(device, {})[boot] = AcceptedSequences(accepted)

    def knows_room_for(self, device: int) -> bool:
        """False for one device too many: its frames are refused, not acknowledged."""
        return device in self._devices or len(self._devices) < DEVICES_MAX

    def accept(self, identity: BoardIdentity) -> bool:
        """True when this frame comes for the first time."""
        boots = self._devices.setdefault(identity.device, {})
        sequences = boots.get(identity.boot)
        key = (identity.device, identity.boot)
        if sequences is None:
            sequences = boots[identity.boot] = AcceptedSequences()
            self.removed.discard(key)
            if len(boots) > BOOTS_PER_DEVICE_MAX:
                self._forget(identity.device, next(iter(boots)))
        if not sequences.accept(identity.sequence):
            return False
        self.changed.add(key)
        return True

    def take_changes(self) -> tuple[list[tuple[int, int, str]], list[tuple[int, int]]]:
        """Rows to write (device, boot, accepted) and rows to remove since the last call."""
        changed = [
            (device, boot, str(self._devices[device][boot])) for device, boot in self.changed
        ]
        removed = list(self.removed)
        self.changed.clear()
        self.removed.clear()
        return changed, removed

    def _forget(self, device: int, boot: int) -> None:
        del self._devices[device][boot]
        self.changed.discard((device, boot))
        self.removed.add((device, boot))
