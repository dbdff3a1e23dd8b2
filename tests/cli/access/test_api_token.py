"""`oncegate api-token` writes the file that the page reads."""

import asyncio
import json
import os
import stat
from pathlib import Path

import pytest

from api.login.tokens import Tokens
from gateway.broker.access.passwords.file import set_password
from gateway.broker.core.records.events import decode
from gateway.broker.store.journal_reader import JournalReader
from gateway.cli.main import run
from tests.broker.server.reloading_broker import eventually, reloading_broker


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "tokens"


def printed(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert run(["api-token", *words]) == code
    captured = capsys.readouterr()
    return captured.out + captured.err


def test_a_token_is_shown_once_and_counts_until_it_is_removed(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = printed(capsys, "add", "dashboard", "--file", str(path))
    token = said.splitlines()[-1]
    assert token.startswith("ogt_")
    assert "chgrp oncegate-api" in said
    assert token not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    found = Tokens(path).find(token, 0.0)
    assert found is not None
    assert (found.name, found.role) == ("dashboard", "viewer")
    said = printed(capsys, "add", "backup", "--role", "operator", "--file", str(path))
    assert "chgrp" not in said
    listed = json.loads(printed(capsys, "list", "--json", "--file", str(path)))
    assert [(each["name"], each["role"]) for each in listed["tokens"]] == [
        ("dashboard", "viewer"),
        ("backup", "operator"),
    ]
    assert token not in printed(capsys, "list", "--file", str(path))
    assert "removed: dashboard" in printed(capsys, "remove", "dashboard", "--file", str(path))
    assert Tokens(path).find(token, 0.0) is None


def test_mistakes_are_a_line_and_change_nothing(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(path.parent)
    assert "name it with --file" in printed(capsys, "add", "a", code=2)
    assert "cannot be read" in printed(capsys, "list", "--file", str(path), code=1)
    printed(capsys, "add", "a", "--file", str(path))
    before = path.read_bytes()
    assert "there is a token 'a' already" in printed(
        capsys, "add", "a", "--file", str(path), code=1
    )
    assert "cannot be a token's name" in printed(capsys, "add", "a b", "--file", str(path), code=1)
    assert "there is no token 'b'" in printed(capsys, "remove", "b", "--file", str(path), code=1)
    assert path.read_bytes() == before
    path.write_text("oops\n")
    assert "line 1" in printed(capsys, "add", "b", "--file", str(path), code=1)
    assert path.read_text() == "oops\n"


def test_the_configured_file_is_taken(
    path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(path.parent)
    for name, value in (
        ("ACCESS_PASSWORD_FILE", "p"),
        ("API_VIEWERS", '["anna"]'),
        ("API_TOKENS_FILE", str(path)),
    ):
        monkeypatch.setenv(f"ONCEGATE_{name}", value)
    assert f"in {path}" in printed(capsys, "add", "a")


async def test_a_running_broker_records_who_made_and_removed_a_token(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = tmp_path / "gateway.toml"
    data_dir, tokens = tmp_path / "data", tmp_path / "tokens"
    set_password(tmp_path / "users", "anna", b"secret", scram_iterations=4_096)
    written.write_text(
        f'[gateway]\ndata_dir = "{data_dir}"\n[access]\npassword_file = "{tmp_path}/users"\n'
        f'[api]\ntokens_file = "{tokens}"\nviewers = ["anna"]\n'
    )
    words = ("dashboard", "--config", str(written))
    async with reloading_broker(tmp_path, listeners=[{"port": 0}]):
        said = await asyncio.to_thread(printed, capsys, "add", *words)
        assert "no event" not in said
        await asyncio.to_thread(printed, capsys, "remove", *words)
        await eventually(lambda: len(operated(data_dir)) == 2)
    who = f"user id {os.getuid()} of this machine"
    assert operated(data_dir) == [
        ("api_token_added", f"{who}: 'name'='dashboard (viewer)': done"),
        ("api_token_removed", f"{who}: 'name'='dashboard': done"),
    ]
    assert "no event of this change: no broker answers" in printed(capsys, "add", *words)


def operated(data_dir: Path) -> list[tuple[object, object]]:
    blobs = JournalReader(data_dir).blobs_after(0, 1 << 20)
    events = [event for blob in blobs for event in decode(blob).events]
    return [(each["action"], each["detail"]) for each in events if each["event"] == "operated"]
