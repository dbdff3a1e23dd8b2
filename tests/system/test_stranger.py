"""A stranger and the default configuration: nothing is reachable from the network, and other users
of the machine can read nothing.

This is tested on a running gateway, not derived from its settings. Attacks on a listener that was
opened to the network are in tests/broker/server/test_stranger_at_a_listener.py.
"""

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.system.whole_gateway import WholeGateway

LOOPBACK: Final = {
    "0100007F",
    "00000000000000000000000001000000",
    "0000000000000000FFFF00000100007F",
}
"""127.0.0.1, ::1 and ::ffff:127.0.0.1 as /proc/net writes them."""
LISTENING: Final = "0A"
UNCONNECTED: Final = "07"
"""The state number of an open UDP socket in /proc/net; `LISTENING` is that of TCP."""


def inodes_of(process_ids: list[int]) -> set[str]:
    """Return the inodes of the sockets that the processes have open."""
    found: set[str] = set()
    for process_id in process_ids:
        for descriptor in Path(f"/proc/{process_id}/fd").iterdir():
            try:
                target = os.readlink(descriptor)
            except FileNotFoundError:  # closed since it was listed
                continue
            if target.startswith("socket:["):
                found.add(target[8:-1])
    return found


def open_to(process_ids: list[int]) -> Iterator[tuple[str, str]]:
    """Yield protocol and hexadecimal address of each socket on which the processes accept data."""
    inodes = inodes_of(process_ids)
    for protocol, state in (
        ("tcp", LISTENING),
        ("tcp6", LISTENING),
        ("udp", UNCONNECTED),
        ("udp6", UNCONNECTED),
    ):
        for line in Path(f"/proc/net/{protocol}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == state and fields[9] in inodes:
                yield protocol, fields[1].partition(":")[0]


@pytest.mark.slow
def test_by_default_no_other_machine_reaches_anything_and_no_other_user_reads_anything(
    gateway: WholeGateway,
) -> None:
    gateway.start()
    found = list(open_to(gateway.process_ids()))
    assert len(found) >= 2, "the broker and the page"
    assert [each for each in found if each[1] not in LOOPBACK] == []
    paths = [gateway.data_directory, *gateway.data_directory.rglob("*")]
    open_to_others = [path for path in paths if path.lstat().st_mode & stat.S_IRWXO]
    assert [path for path in open_to_others if not path.is_symlink()] == []
    sockets = [path for path in paths if path.is_socket()]
    assert len(sockets) == 2, "control.sock and status.sock"
    assert gateway.stop() == 0
