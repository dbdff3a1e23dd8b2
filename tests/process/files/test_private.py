"""Files of a gateway are closed to other users, and no link diverts a write."""

import asyncio
import os
import stat
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gateway.broker.store.journal import Journal
from gateway.broker.store.journal_scan import JournalScan
from gateway.process.files.durable import replace_durably
from gateway.process.files.private import (
    SecretExposed,
    first_line_of,
    open_private,
    prepare,
)
from tests.system.broker_process import BrokerProcess, oncegate_command

STRANGER = 65_534
COMMAND_SECONDS_MAX = 60
ALONE = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def modes_in(directory: Path) -> dict[str, int]:
    """Return the mode of everything in the directory except sockets, by relative path."""
    return {
        str(path.relative_to(directory)): mode_of(path)
        for path in (directory, *directory.rglob("*"))
        if not path.is_socket()
    }


@pytest.fixture
def broker() -> Iterator[BrokerProcess]:
    broker = BrokerProcess()
    yield broker
    broker.remove()


def test_a_new_data_directory_is_closed_to_others_whatever_the_umask_was(
    broker: BrokerProcess,
) -> None:
    before = os.umask(0)
    try:
        broker.start()
        broker.stop()
    finally:
        os.umask(before)
    modes = modes_in(broker.data_directory)
    assert "broker.db" in modes
    assert any(name.startswith("journal/") for name in modes)
    assert {name: oct(mode) for name, mode in modes.items() if mode & 0o027} == {}


def test_a_data_directory_of_an_earlier_version_is_tightened_at_the_start(
    broker: BrokerProcess,
) -> None:
    broker.start()
    broker.stop()
    for path in (broker.data_directory, *broker.data_directory.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    (broker.data_directory / "notes.txt").write_text("a person's own file")
    (broker.data_directory / "notes.txt").chmod(0o644)
    broker.start()
    modes = modes_in(broker.data_directory)
    assert modes.pop("notes.txt") == 0o644
    assert {name: oct(mode) for name, mode in modes.items() if mode & 0o027} == {}


def test_a_file_that_another_process_removes_meanwhile_is_no_error(tmp_path: Path) -> None:
    """A broker that stops removes its WAL while an uploader starts."""
    wal, is_over = tmp_path / "broker.db-wal", threading.Event()

    def come_and_go() -> None:
        while not is_over.is_set():
            wal.touch(0o644)
            wal.unlink()

    broker = threading.Thread(target=come_and_go)
    broker.start()
    try:
        for _ in range(2000):
            tmp_path.chmod(0o755)
            prepare(tmp_path)
    finally:
        is_over.set()
        broker.join()


def test_modes_that_are_stricter_already_stay(tmp_path: Path) -> None:
    key = tmp_path / "decoy-key"
    key.touch(0o600)
    key.chmod(0o600)
    tmp_path.chmod(0o755)
    prepare(tmp_path)
    assert mode_of(key) == 0o600
    assert mode_of(tmp_path) == 0o750


def test_a_shared_directory_such_as_tmp_keeps_its_mode(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    prepare(tmp_path)
    assert mode_of(tmp_path) == 0o1777


def run(verb: str, data_dir: Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [*oncegate_command(), verb, "--data-dir", str(data_dir)],
        check=False,
        capture_output=True,
        text=True,
        timeout=COMMAND_SECONDS_MAX,
        env={**ALONE, "ONCEGATE_LISTENERS": "[{port = 0}]", "ONCEGATE_BRIDGE_BROKER": "[::1]:1"},
    )


@pytest.mark.parametrize(
    ("verb", "name"),
    [
        ("broker", "broker.lock"),
        ("broker", "broker.running"),
        ("bridge", "bridge.lock"),
        ("upload", "log/lock"),
        ("upload", "gateway-id.partial"),
    ],
)
def test_a_link_in_place_of_our_file_is_refused_and_what_it_points_to_stays(
    tmp_path: Path, verb: str, name: str
) -> None:
    data_dir = tmp_path / "data"
    victim = tmp_path / "victim"
    victim.write_text("precious")
    link = data_dir / name
    link.parent.mkdir(parents=True)
    link.symlink_to(victim)
    ended = run(verb, data_dir)
    assert ended.returncode == 1, ended.stderr
    assert str(link) in ended.stderr
    assert "is a link, which is not followed here" in ended.stderr
    assert "Traceback" not in ended.stderr
    assert victim.read_text() == "precious"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes another user's link")
@pytest.mark.parametrize("name", ["broker.db", "outbox.db", "journal", "log"])
def test_another_users_link_to_a_database_or_directory_is_refused(
    tmp_path: Path, name: str
) -> None:
    link = tmp_path / name
    link.symlink_to("/elsewhere")
    prepare(tmp_path)  # Our own link is allowed: an operator may use another disk this way.
    os.chown(link, STRANGER, STRANGER, follow_symlinks=False)
    with pytest.raises(OSError, match="is a link") as caught:
        prepare(tmp_path)
    assert caught.value.filename == str(link)


def write_spare(directory: Path) -> None:
    journal = Journal(directory)
    journal.resume(JournalScan(directory / "journal", 0))
    try:
        journal.append(1, bytes(100))
    finally:
        journal.close()


def write_partial(directory: Path) -> None:
    replace_durably(directory / "chain.json", b"{}", partial=directory / "chain.json.partial")


@pytest.mark.parametrize(
    ("name", "write"), [("journal/spare", write_spare), ("chain.json.partial", write_partial)]
)
def test_a_file_that_is_written_whole_is_not_written_through_a_link(
    tmp_path: Path, name: str, write: Callable[[Path], None]
) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).symlink_to(victim)
    with pytest.raises(OSError, match="is a link"):
        write(tmp_path)
    assert victim.read_text() == "precious"


async def test_a_fifo_in_place_of_our_file_blocks_no_process(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    async with asyncio.timeout(60):
        with pytest.raises(OSError, match="regular file"):
            await asyncio.to_thread(open_private, tmp_path / "fifo", os.O_RDWR | os.O_CREAT)


@pytest.mark.parametrize("mode", [0o604, 0o602, 0o601, 0o644, 0o666])
def test_a_secret_that_others_can_reach_is_refused_with_the_fix(tmp_path: Path, mode: int) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the password\n")
    secret.chmod(mode)
    with pytest.raises(SecretExposed, match=f"mode {mode:04o}.*Run chmod 600 {secret}") as found:
        first_line_of(secret, 100)
    assert "the password" not in str(found.value)


@pytest.mark.parametrize("mode", [0o400, 0o600, 0o440, 0o640])
def test_a_secret_that_its_owner_and_a_group_read_is_taken(tmp_path: Path, mode: int) -> None:
    secret = tmp_path / "secret"
    secret.write_text("the password\r\nmore\n")
    secret.chmod(mode)
    assert first_line_of(secret, 100) == "the password"
    # Like systemd, which places credentials in a folder of their own, perhaps through a link.
    (tmp_path / "link").symlink_to(secret)
    assert first_line_of(tmp_path / "link", 100) == "the password"


def test_a_secret_may_come_through_a_pipe(tmp_path: Path) -> None:
    reads, writes = os.pipe()
    os.write(writes, b"the password\n")
    os.close(writes)
    assert first_line_of(Path(f"/dev/fd/{reads}"), 100) == "the password"
    os.close(reads)
