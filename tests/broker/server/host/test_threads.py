"""Threads of the broker get the interpreter lock within half a millisecond."""

import sys

from gateway.broker.server.host import threads
from tests.broker.server.conftest import Start


async def test_a_broker_has_its_threads_wait_for_half_a_millisecond(start: Start) -> None:
    before = sys.getswitchinterval()
    try:
        await start({})
        assert abs(sys.getswitchinterval() - threads.SWITCH_SECONDS) < 1e-6
    finally:
        sys.setswitchinterval(before)
