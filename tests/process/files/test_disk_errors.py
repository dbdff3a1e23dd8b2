"""Disk errors recognised by their error numbers."""

import errno

import pytest

from gateway.process.files.disk_errors import is_full, is_unreadable, line_of


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


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            FileNotFoundError(2, "No such file or directory", "/dev/b"),
            "/dev/b: No such file or directory",
        ),
        (
            FileNotFoundError(2, "No such file or directory", "/dev/none/b"),
            "/dev/none/b: the directory /dev/none does not exist",
        ),
        (OSError(28, "No space\nleft"), "No space left"),
        (OSError("of our own\n\twords"), "of our own words"),
        (OSError(2, "cannot open /a: [Errno 2] No such file"), "cannot open /a: No such file"),
        (ValueError("one\ntwo"), "one two"),
        ("already  text", "already text"),
    ],
)
def test_an_error_is_one_line_and_names_its_file(error: object, line: str) -> None:
    assert line_of(error) == line
