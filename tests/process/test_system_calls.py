"""System calls by number: the kernel's answers, and machines with unknown numbers."""

import errno
import os

import pytest

from gateway.process.system_calls import call


def test_what_the_kernel_refuses_has_its_error_number() -> None:
    with pytest.raises(OSError) as refused:  # noqa: PT011 - the test checks its number
        call("ioprio_get", 99, 0)
    assert refused.value.errno == errno.EINVAL


def test_a_machine_whose_numbers_are_not_known_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    there = os.uname()
    other = os.uname_result((*there[:4], "pdp11"))
    monkeypatch.setattr(os, "uname", lambda: other)
    with pytest.raises(OSError, match="the number of ioprio_get on pdp11 is not known here"):
        call("ioprio_get", 1, 0)
