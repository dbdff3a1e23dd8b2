"""The command that makes a backup for the page."""

import sys
from pathlib import Path

import pytest

from api import limits
from api.status.backup import BackupCommand, BackupFailed


def command(program: str) -> BackupCommand:
    return BackupCommand((sys.executable, "-c", program), ())


async def test_the_command_s_output_is_the_backup() -> None:
    assert await command("print('a backup', end='')").run() == b"a backup"


async def test_the_command_s_last_line_is_the_error() -> None:
    program = "import sys; print('half'); sys.exit('first\\noncegate backup: no such file')"
    with pytest.raises(BackupFailed, match=r"^oncegate backup: no such file$"):
        await command(program).run()
    with pytest.raises(BackupFailed, match="cannot be started"):
        await BackupCommand(("/no/such/program",), ()).run()


async def test_a_command_that_writes_too_much_or_takes_too_long_is_ended(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "BACKUP_BYTES_MAX", 1 << 20)
    with pytest.raises(BackupFailed, match="more than 1 MiB"):
        await command("while True: print('x' * 10_000)").run()
    monkeypatch.setattr(limits, "BACKUP_SECONDS_MAX", 0.2)
    with pytest.raises(BackupFailed, match="Use the command on the gateway"):
        await command("import time; time.sleep(60)").run()


def test_a_download_is_possible_where_all_files_can_be_read(tmp_path: Path) -> None:
    assert BackupCommand((), (tmp_path,)).is_possible
    assert not BackupCommand((), (tmp_path, tmp_path / "none")).is_possible
