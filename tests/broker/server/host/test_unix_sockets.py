"""Unix socket files: closed to other users, and replaced only if no process listens."""

import os
import socket
import stat
from pathlib import Path

import pytest

from gateway.broker.server.host.unix_sockets import (
    closed_to_others,
    inode_of,
    is_answered,
    remove_stale,
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "s"


def test_a_socket_made_meanwhile_has_mode_0660_and_the_umask_comes_back(path: Path) -> None:
    before = os.umask(0o022)
    try:
        with closed_to_others(), socket.socket(socket.AF_UNIX) as made:
            made.bind(str(path))
        assert stat.S_IMODE(path.lstat().st_mode) == 0o660
        assert os.umask(0o022) == 0o022
    finally:
        os.umask(before)


def test_the_umask_comes_back_when_the_socket_cannot_be_made(path: Path) -> None:
    before = os.umask(0o027)
    try:
        with pytest.raises(FileNotFoundError), closed_to_others():
            (path / "missing").touch()
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)


def test_a_socket_at_which_no_process_listens_is_removed(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(path))
    assert not is_answered(path)
    remove_stale(path)
    assert not path.exists()


def test_where_there_is_nothing_nothing_is_removed(path: Path) -> None:
    remove_stale(path)
    assert not path.exists()


def test_a_socket_of_another_process_stays(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as taken:
        taken.bind(str(path))
        taken.listen()
        assert is_answered(path)
        with pytest.raises(OSError, match="another process listens there"):
            remove_stale(path)
    assert path.is_socket()


def test_a_process_whose_queue_of_connections_is_full_counts_as_listening(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.broker.server.host.unix_sockets.PROBE_SECONDS", 0.01)
    waiting: list[socket.socket] = []
    with socket.socket(socket.AF_UNIX) as busy:
        busy.bind(str(path))
        busy.listen(0)
        try:
            for _ in range(4):
                client = socket.socket(socket.AF_UNIX)
                waiting.append(client)
                client.setblocking(False)
                if client.connect_ex(str(path)):
                    break
            assert is_answered(path)
        finally:
            for client in waiting:
                client.close()


def test_a_file_that_was_replaced_has_another_number(path: Path) -> None:
    path.touch()
    other = path.with_name("other")
    other.touch()
    before = inode_of(path)
    other.rename(path)
    assert inode_of(path) != before
