"""The kill test's account reports each kind of fault that it is there to find."""

from typing import Any

import pytest
from firmware_bridge.protocols.board_frame import acknowledgement_of, frame_bytes_of
from firmware_bridge.readings.measurement import Measurement
from firmware_bridge.readings.numbering import BoardIdentity

from tests.bridge.firmware.witness import account_of


def frame(boot: int, sequence: int) -> bytes:
    identity = BoardIdentity(7, boot, sequence)
    return frame_bytes_of(identity, [Measurement("n", boot * 100 + sequence)])


def record(boot: int, sequence: int) -> dict[str, Any]:
    return {"n": "board/n", "v": boot * 100 + sequence, "boot": boot, "sequence": sequence}


LIVES = [frame(1, 1) + frame(1, 1) + frame(1, 2)[:9], frame(2, 1) + frame(2, 2)]
RECEIVED = b"".join(acknowledgement_of(BoardIdentity(7, *each)) for each in ((1, 1), (2, 1)))
DELIVERED = [record(1, 1), record(2, 1), record(2, 2)]


def test_a_whole_run_is_whole() -> None:
    account = account_of(LIVES, RECEIVED, DELIVERED)
    assert account.is_whole()
    assert (account.written, account.acknowledged, account.delivered) == (3, 2, 3)
    assert (account.resent, account.cut, account.given_up) == (1, 1, 0)


@pytest.mark.parametrize(
    ("lives", "delivered", "fault"),
    [
        (LIVES, DELIVERED[1:], "lost"),
        (LIVES, [*DELIVERED, record(1, 1)], "doubled"),
        (LIVES, [*DELIVERED, record(2, 3)], "foreign"),
        (LIVES, [{**DELIVERED[0], "v": 5}, *DELIVERED[1:]], "foreign"),
        (LIVES, [DELIVERED[0], DELIVERED[2], DELIVERED[1]], "disordered"),
        ([*LIVES, frame(2, 3)], DELIVERED, "boots_repeated"),
    ],
)
def test_each_fault_is_found(
    lives: list[bytes], delivered: list[dict[str, Any]], fault: str
) -> None:
    account = account_of(lives, RECEIVED, delivered)
    assert not account.is_whole()
    assert getattr(account, fault)
