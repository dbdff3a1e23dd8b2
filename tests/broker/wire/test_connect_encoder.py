"""Encoding of CONNECT, with the vectors from the table."""

import pytest

from gateway.broker.wire.encoder import encode
from gateway.broker.wire.kinds import CONNECT
from gateway.broker.wire.packets import Connect
from tests.broker.wire.vector_cases import Case, cases
from tests.broker.wire.vectors import VECTORS


@pytest.mark.parametrize("case", cases(VECTORS, CONNECT))
def test_a_connect_is_encoded_to_the_same_bytes(case: Case) -> None:
    assert encode(case[0].packet, case[1]) == case[0].wire


def test_a_connect_that_cannot_be_is_our_own_mistake() -> None:
    with pytest.raises(AssertionError, match="65536 bytes"):
        encode(Connect(4, "x" * 65_536, True, 0, None, None, None), 4)
    with pytest.raises(AssertionError, match="password without a user name"):
        encode(Connect(4, "c", True, 0, None, None, b"p"), 4)
