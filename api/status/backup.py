"""Backups for the status page, created by `oncegate backup` in a separate process.

The page's own process does not read the files of the gateway. The program that starts the page
provides the backup command and a list of the files that the command reads. Administrators can
download a backup only if this process has permission to read all these files.
"""

import asyncio
import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from api import limits

LINE_CHARACTERS_MAX: Final = 400
"""Characters of the command's error that are shown."""


class BackupFailed(Exception):
    """Error that is raised if the backup command fails.

    The message is the command's error message, which includes the fix.
    """


@dataclass(frozen=True)
class BackupCommand:
    """A command that writes a backup to its standard output."""

    arguments: tuple[str, ...]
    reads: tuple[Path, ...]
    """Files and folders that the command reads."""

    @property
    def has_data(self) -> bool:
        """True if the backup contains the gateway's data in addition to its configuration."""
        return "--data" in self.arguments

    @property
    def is_possible(self) -> bool:
        """True if this process has permission to read all files that the command reads."""
        return all(os.access(path, os.R_OK) for path in self.reads)

    async def run(self) -> bytes:
        """Run the command, and return the backup as bytes.

        Raises:
            BackupFailed: the command failed, took too long, or wrote too much.
        """
        try:
            process = await asyncio.create_subprocess_exec(
                *self.arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env=_environment(os.environ),
            )
        except OSError as error:
            raise BackupFailed(f"The command cannot be started: {error.strerror}") from None
        try:
            async with asyncio.timeout(limits.BACKUP_SECONDS_MAX):
                return await _result_of(process)
        except TimeoutError:
            raise BackupFailed(
                f"No backup after {limits.BACKUP_SECONDS_MAX:.0f} s. Use the command on the gateway"
            ) from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()


async def _result_of(process: asyncio.subprocess.Process) -> bytes:
    assert process.stdout is not None
    assert process.stderr is not None
    errors = asyncio.create_task(process.stderr.read(LINE_CHARACTERS_MAX * 4))
    found = bytearray()
    while chunk := await process.stdout.read(65_536):
        found += chunk
        if len(found) > limits.BACKUP_BYTES_MAX:
            errors.cancel()
            raise BackupFailed(
                f"The backup has more than {limits.BACKUP_BYTES_MAX >> 20} MiB. Use the command on "
                "the gateway"
            )
    text = (await errors).decode(errors="replace").strip()
    if await process.wait() != 0:
        raise BackupFailed(text.rpartition("\n")[2][:LINE_CHARACTERS_MAX] or "The command failed")
    return bytes(found)


def _environment(present: Mapping[str, str]) -> dict[str, str]:
    """Return a copy of `present` without the variables that systemd sets only for this process.

    `present` contains the environment variables of this process.
    """
    own = {"NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"}
    return {name: value for name, value in present.items() if name not in own}
