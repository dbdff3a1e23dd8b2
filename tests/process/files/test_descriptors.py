"""The limit on open files: raised at a start, and partly reserved for files."""

import errno
import resource
import subprocess
import sys

import pytest

from gateway.process.files import descriptors


def printed(code: str, soft: int, hard: int) -> str:
    """Run code in a process with these limits, and return its output."""
    limits = f"resource.setrlimit(resource.RLIMIT_NOFILE, ({soft}, {hard}))"
    outcome = subprocess.run(
        [
            sys.executable,
            "-c",
            f"import os, resource; from gateway.process.files import descriptors; {limits}; {code}",
        ],
        capture_output=True,
        check=True,
        text=True,
    )
    return outcome.stdout.strip()


def test_the_soft_limit_is_raised_to_the_hard_one() -> None:
    code = "descriptors.raise_limit(); print(*resource.getrlimit(resource.RLIMIT_NOFILE))"
    assert printed(code, 64, 300) == "300 300"
    assert printed("print(descriptors.raise_limit())", 64, 300) == "300"


def test_a_limit_that_is_as_high_as_it_may_be_stays() -> None:
    code = "print(descriptors.raise_limit(), *resource.getrlimit(resource.RLIMIT_NOFILE))"
    assert printed(code, 300, 300) == "300 300 300"


@pytest.mark.parametrize(
    ("limit", "connections"), [(64, 48), (1_024, 768), (4_096, 3_584), (10_000, 9_488)]
)
def test_connections_leave_descriptors_for_files(limit: int, connections: int) -> None:
    assert printed("print(descriptors.for_connections())", limit, limit) == str(connections)


def test_no_more_connections_are_granted_than_wanted() -> None:
    assert printed("print(descriptors.connections_within(10))", 64, 64) == "10"
    assert printed("print(descriptors.connections_within(10_000))", 64, 64) == "48"


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_a_full_table_of_open_files_is_recognised(number: int) -> None:
    assert descriptors.ran_out(OSError(number, "Too many open files"))
    assert not descriptors.ran_out(OSError(errno.ENOSPC, "No space left on device"))
    assert not descriptors.ran_out(ValueError(number))


def test_used_up_descriptors_are_noticed_and_free_ones_are() -> None:
    assert not descriptors.are_used_up()
    take_all = (
        "import contextlib\n"
        "with contextlib.suppress(OSError):\n"
        "    while True: os.dup(0)\n"
        "print(descriptors.are_used_up())"
    )
    assert printed(f"exec({take_all!r})", 64, 64) == "True"


def test_an_unlimited_process_uses_as_many_as_the_kernel_allows() -> None:
    assert descriptors.limit() <= descriptors.USED_MAX
    assert descriptors.limit() == min(
        resource.getrlimit(resource.RLIMIT_NOFILE)[0], descriptors.USED_MAX
    )
