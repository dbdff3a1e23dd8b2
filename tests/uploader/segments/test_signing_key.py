"""The key is created once and stored, and its loss is logged."""

from __future__ import annotations

import errno
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.uploader.segments.signing_key import SigningKey, public_keys_in
from gateway.uploader.settings import PUBLIC_KEYS_KEPT

PROGRAM = """
import os, signal, sys
from pathlib import Path
from gateway.uploader.segments.signing_key import SigningKey

for number in range(int(sys.argv[2])):
    folder = Path(sys.argv[1]) / str(number)
    process = os.fork()
    if process == 0:
        left = number
        def die_before(event, arguments):
            global left
            if event in ("open", "os.mkdir", "os.rename"):
                if left == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                left -= 1
        sys.addaudithook(die_before)
        SigningKey(folder).load()
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]))
"""
"""Kills one process before the first file operation of creating a key, the next before the 2nd."""
CUTS = 20
"""More than the number of file operations."""


def test_the_first_load_makes_a_key_that_only_its_user_reads(tmp_path: Path) -> None:
    signer = SigningKey(tmp_path / "log").load()
    found = (tmp_path / "log" / "signing-key").stat()
    assert stat.S_IMODE(found.st_mode) == 0o600
    assert public_keys_in(tmp_path / "log") == [signer.public_key]
    assert sorted(path.name for path in (tmp_path / "log").iterdir()) == [
        "signing-key",
        "signing-key.pub",
    ]


def test_a_key_is_kept_and_differs_from_that_of_another_gateway(tmp_path: Path) -> None:
    first = SigningKey(tmp_path / "a").load().public_key
    assert SigningKey(tmp_path / "a").load().public_key == first
    assert SigningKey(tmp_path / "b").load().public_key != first


def test_a_lost_key_is_replaced_logged_and_shown_beside_the_former(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    former = SigningKey(tmp_path).load().public_key
    assert caplog.messages == []
    (tmp_path / "signing-key").unlink()
    key = SigningKey(tmp_path)
    present = key.load().public_key
    assert present != former
    assert key.public_keys == public_keys_in(tmp_path) == [former, present]
    (message,) = caplog.messages
    assert present in message
    assert "was lost" in message


def cut(line: str) -> str:
    return line[:70]


def other_public_key(line: str) -> str:
    return f"{line[:65]}{'00' * 32}\n"


def flipped(line: str) -> str:
    return ("1" if line[0] == "0" else "0") + line[1:]


@pytest.mark.parametrize("damage", [cut, other_public_key, flipped, lambda _: "", lambda _: "\xff"])
def test_a_damaged_key_is_set_aside_and_never_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: object
) -> None:
    former = SigningKey(tmp_path).load().public_key
    path = tmp_path / "signing-key"
    assert callable(damage)
    path.write_text(damage(path.read_text()), encoding="latin-1")
    present = SigningKey(tmp_path).load().public_key
    assert public_keys_in(tmp_path) == [former, present]
    assert (tmp_path / "signing-key.damaged").exists()
    assert "is damaged" in caplog.messages[0]
    assert SigningKey(tmp_path).load().public_key == present


def test_a_link_in_place_of_the_key_is_refused(tmp_path: Path) -> None:
    (tmp_path / "signing-key").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="is a link") as refused:
        SigningKey(tmp_path).load()
    assert refused.value.errno == errno.ELOOP
    assert not (tmp_path / "elsewhere").exists()


def test_public_keys_are_bounded_and_those_that_cannot_be_read_are_left_out(tmp_path: Path) -> None:
    lines = [f"{number:064x}" for number in range(PUBLIC_KEYS_KEPT)]
    (tmp_path / "signing-key.pub").write_text("\n".join([*lines, "nonsense", ""]))
    key = SigningKey(tmp_path)
    present = key.load().public_key
    assert public_keys_in(tmp_path) == [*lines[1:], present]
    assert public_keys_in(tmp_path / "nowhere") == []


def test_a_process_killed_while_it_makes_the_key_leaves_a_whole_key_or_none(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-c", PROGRAM, str(tmp_path), str(CUTS)]
    outcome = subprocess.run(command, check=True, capture_output=True, text=True)
    codes = [int(line) for line in outcome.stdout.split()]
    assert set(codes) == {0, -signal.SIGKILL}
    whole = 0
    for number, code in enumerate(codes):
        folder = tmp_path / str(number)
        made = folder / "signing-key"
        public_key = None
        if made.exists():
            whole += code != 0
            seed, public_key = made.read_text().split()
            assert len(seed) == len(public_key) == 64
            assert stat.S_IMODE(made.stat().st_mode) == 0o600
        folder.mkdir(exist_ok=True)
        assert SigningKey(folder).load().public_key == (public_key or public_keys_in(folder)[0])
        assert not (folder / "signing-key.damaged").exists()
        assert len(public_keys_in(folder)) == 1
    assert 0 < whole < len(codes) - codes.count(0)
