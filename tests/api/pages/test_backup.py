"""Download of a backup at the page, with the real command."""

import asyncio
import io
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from api.status.backup import BackupCommand
from gateway.tools.backup.archive import ArchiveReader
from tests.api.acting import site
from tests.api.conftest import DEADLINE_SECONDS
from tests.api.logging_in import PASSWORD, token_in
from tests.api.pages.test_actions import sent

PATH = "/system/backup"


def command_in(directory: Path) -> BackupCommand:
    config = directory / "page.toml"
    config.write_text(f'[access]\npassword_file = "{directory}/passwords"\n')
    options = ("--config", str(config), "--data-dir", str(directory / "data"))
    command = (sys.executable, "-P", "-m", "gateway.cli.main", "backup", "-", *options)
    return BackupCommand(command, (config, directory / "passwords"))


@asynccontextmanager
async def administrator(
    directory: Path, backup: BackupCommand | None
) -> AsyncIterator[httpx.AsyncClient]:
    async with site(directory, backup) as at, at.browser("carl") as browser:
        yield browser


async def test_an_administrator_downloads_what_the_command_writes(tmp_path: Path) -> None:
    async with administrator(tmp_path, command_in(tmp_path)) as browser:
        assert f'href="{PATH}"' in (await browser.get("/system")).text
        assert "oncegate restore FILE" in (await browser.get(PATH)).text
        answer = await sent(browser, PATH, own_password=PASSWORD)
        assert answer.status_code == 200
        assert answer.headers["content-type"] == "application/gzip"
        assert answer.headers["cache-control"] == "no-store"
        assert ".oncegate-backup.tar.gz" in answer.headers["content-disposition"]
        reader = ArchiveReader(io.BytesIO(answer.content))
        names = [member.name for member, chunks in reader.members() if [*chunks]]
        assert names == ["configuration/page.toml", "configuration/passwords", "data/gateway-id"]
        async with asyncio.timeout(DEADLINE_SECONDS):
            while "backup downloaded" not in (await browser.get("/log?kind=operators")).text:  # noqa: ASYNC110
                await asyncio.sleep(0.3)
        log = (await browser.get("/log?kind=operators")).text
        assert f"&#39;bytes&#39;={len(answer.content)}, &#39;data&#39;=False: done" in log


async def test_a_download_needs_the_own_password_of_a_person(tmp_path: Path) -> None:
    async with (
        site(tmp_path, command_in(tmp_path)) as at,
        at.browser("carl") as browser,
        at.browser("ben") as operator,
        at.program("administrator") as program,
    ):
        for password in ("wrong", ""):
            answer = await sent(browser, PATH, own_password=password)
            assert (answer.status_code, "Your own password is wrong" in answer.text) == (403, True)
        assert (await browser.post(PATH, data={"own_password": PASSWORD})).status_code == 403
        assert (await operator.get(PATH)).status_code == 403
        assert (await program.post(PATH, data={"own_password": PASSWORD})).status_code == 403
        assert PATH not in (await operator.get("/system")).text


@pytest.mark.parametrize("backup", [None, BackupCommand((), (Path("/none"),))])
async def test_where_the_page_may_not_read_the_files_it_names_the_command(
    tmp_path: Path, backup: BackupCommand | None
) -> None:
    async with administrator(tmp_path, backup) as browser:
        text = (await browser.get("/system")).text
        assert "sudo oncegate backup FILE" in text
        assert f'href="{PATH}"' not in text
        assert "sudo oncegate backup FILE" in (await browser.get(PATH)).text
        form = {"token": token_in(text), "own_password": PASSWORD}
        answer = await browser.post(PATH, data=form)
        assert (answer.status_code, "sudo oncegate backup FILE" in answer.text) == (409, True)


async def test_one_backup_is_made_at_a_time_and_a_failure_is_shown(tmp_path: Path) -> None:
    slow = BackupCommand((sys.executable, "-c", "import time; time.sleep(2); exit('no disk')"), ())
    async with administrator(tmp_path, slow) as browser:
        first, second = await asyncio.gather(
            *(sent(browser, PATH, own_password=PASSWORD) for _ in range(2))
        )
        assert sorted([first.status_code, second.status_code]) == [500, 503]
        assert "o disk" in first.text + second.text
        assert "Another backup is being made" in first.text + second.text


async def test_a_backup_that_is_not_recorded_is_not_sent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with site(tmp_path, command_in(tmp_path)) as at, at.browser("carl") as browser:
        monkeypatch.delitem(at.broker.running.control._commands, "backup_downloaded")
        answer = await sent(browser, PATH, own_password=PASSWORD)
        assert (answer.status_code, answer.headers["content-type"][:9]) == (502, "text/html")
