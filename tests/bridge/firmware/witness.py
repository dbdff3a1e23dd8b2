"""Pure checks that the bytes on the board's own line and the readings that arrived agree.

The board's numbering is the evidence: `boot` and `sequence` of each frame that the board wrote and
of each acknowledgement that it read.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from firmware_bridge.protocols.board_frame import read_acknowledgement, read_frame
from firmware_bridge.protocols.frame import Damaged

Number = tuple[int, int]
"""The numbers `boot` and `sequence`, which together identify a frame of one board."""


@dataclass
class Account:
    """The counts of one run. A run is whole if every list here is empty."""

    written: int = 0
    acknowledged: int = 0
    delivered: int = 0
    resent: int = 0
    cut: int = 0
    """The number of frames and acknowledgements that a kill truncated."""
    given_up: int = 0
    """Frames for which the board had no memory.

    Their numbers are missing and were never acknowledged.
    """
    lost: list[Number] = field(default_factory=list)
    doubled: list[Number] = field(default_factory=list)
    foreign: list[Number] = field(default_factory=list)
    """Readings that were delivered but not written by the board, or not with this value."""
    disordered: list[Number] = field(default_factory=list)
    boots_repeated: list[int] = field(default_factory=list)

    def is_whole(self) -> bool:
        """Return True if each acknowledged reading arrived once, in order and unchanged."""
        return not (
            self.lost or self.doubled or self.foreign or self.disordered or self.boots_repeated
        )


def account_of(
    lives: Iterable[bytes], received: bytes, records: Iterable[dict[str, Any]]
) -> Account:
    """Compare the bytes that the board wrote in each life, and those that it received, with the
    records delivered.

    Each record has `n` (the topic, /-separated), `v`, `boot` and `sequence`. The records are in
    order of arrival.
    """
    account = Account()
    written: dict[Number, dict[str, object]] = {}
    latest_boot = 0
    for life in lives:
        boots = {number[0] for number in _read_written(life, written, account)}
        account.boots_repeated += sorted(boot for boot in boots if boot <= latest_boot)
        assert len(boots) <= 1, f"a life has one boot number: {boots}"
        latest_boot = max(boots, default=latest_boot)
    acknowledged = set(_acknowledged(received, account))
    delivered = _check_delivered(records, written, account)
    account.written = len(written)
    account.acknowledged = len(acknowledged)
    account.delivered = len({number for number, _ in delivered})
    account.lost = sorted(
        number
        for number in acknowledged
        if any((number, name) not in delivered for name in written.get(number, {"": None}))
    )
    numbers = sorted({number for number, _ in delivered})
    for (boot, before), (same, sequence) in pairwise(numbers):
        account.given_up += sequence - before - 1 if same == boot else 0
    return account


def _read_written(
    life: bytes, written: dict[Number, dict[str, object]], account: Account
) -> list[Number]:
    numbers: list[Number] = []
    for stuffed in filter(None, life.split(b"\x00")):
        try:
            frame = read_frame(stuffed)
        except Damaged:
            account.cut += 1
            continue
        if frame.answer_code is not None:
            continue
        assert frame.identity is not None
        number = (frame.identity.boot, frame.identity.sequence)
        values: dict[str, object] = {
            name: measurements[0].value for name, measurements in frame.quantities.items()
        }
        account.resent += number in written
        assert written.setdefault(number, values) == values, f"{number} has two contents"
        numbers.append(number)
    return numbers


def _acknowledged(received: bytes, account: Account) -> Iterable[Number]:
    for stuffed in filter(None, received.split(b"\x00")):
        try:
            identity = read_acknowledgement(stuffed)
        except Damaged:
            account.cut += 1
        else:
            yield identity.boot, identity.sequence


def _check_delivered(
    records: Iterable[dict[str, Any]], written: dict[Number, dict[str, object]], account: Account
) -> Counter[tuple[Number, str]]:
    delivered: Counter[tuple[Number, str]] = Counter()
    latest: dict[str, Number] = {}
    for record in records:
        name = str(record["n"]).rpartition("/")[2]
        number = (int(record["boot"]), int(record["sequence"]))
        delivered[number, name] += 1
        if delivered[number, name] > 1:
            account.doubled.append(number)
        elif number < latest.get(name, number):
            account.disordered.append(number)
        if written.get(number, {}).get(name) != record["v"]:
            account.foreign.append(number)
        latest[name] = number
    return delivered
