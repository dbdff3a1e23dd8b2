"""Errors of the disk by their numbers."""

import errno

import pytest

from gateway.files.disk_errors import is_full, is_unreadable


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_and_an_exhausted_quota_are_full_and_not_unreadable(number: int) -> None:
    error = OSError(number, "no room")
    assert is_full(error)
    assert not is_unreadable(error)


@pytest.mark.parametrize("number", [errno.EIO, errno.EBADMSG, errno.EUCLEAN, errno.EILSEQ])
def test_an_error_of_the_medium_or_of_a_checksum_is_unreadable_and_not_full(number: int) -> None:
    error = OSError(number, "bad block")
    assert is_unreadable(error)
    assert not is_full(error)


@pytest.mark.parametrize("number", [errno.EACCES, errno.EROFS, errno.ENOENT])
def test_any_other_error_is_neither(number: int) -> None:
    error = OSError(number, "something else")
    assert not is_full(error)
    assert not is_unreadable(error)


def test_an_error_that_no_system_call_raised_is_not_a_full_disk() -> None:
    assert not is_full(ValueError(errno.ENOSPC))
