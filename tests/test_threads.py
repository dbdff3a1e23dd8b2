"""A thread that gives way does so alone."""

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from gateway.threads import BACKGROUND_NICENESS, give_way


def niceness() -> int:
    return os.getpriority(os.PRIO_PROCESS, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere niceness is of the whole process")
def test_an_executor_s_thread_gives_way_and_the_process_does_not() -> None:
    before = niceness()
    with ThreadPoolExecutor(1, initializer=give_way) as executor:
        assert executor.submit(niceness).result() == min(19, before + BACKGROUND_NICENESS)
    assert niceness() == before
