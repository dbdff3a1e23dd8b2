"""The parts of a broker, created from its configuration and its data directory."""

import asyncio
from pathlib import Path

import pytest

from gateway.broker.access.rules.evaluation import FileRules
from gateway.broker.access.rules.file import parse
from gateway.broker.server.starting import (
    JOURNAL_FILES,
    apply_rules,
    give_bridge_its_sessions,
    identity_of,
    opened_of,
    store_of,
    users_of,
)
from gateway.configuration import Configuration, load
from tests.broker.core.harness import Harness


def configured(data_dir: Path, **overrides: object) -> Configuration:
    return load(
        None, {}, {"gateway.data_dir": data_dir, "listeners": [{"port": 0}], **overrides}, None
    )


def test_no_file_of_the_journal_is_a_large_part_of_max_journal(tmp_path: Path) -> None:
    configuration = configured(tmp_path, **{"limits.max_journal": "1MiB"})
    store = store_of(configuration)

    async def opened() -> None:
        opened_of(store, configuration)

    asyncio.run(opened())
    assert store.journal.file_bytes * JOURNAL_FILES <= 1024 * 1024
    store.close(clean=True)


def test_without_a_password_file_there_are_no_users(tmp_path: Path) -> None:
    assert users_of(configured(tmp_path)) is None


@pytest.mark.parametrize(("damage", "shown"), [([], None), (["a page", "a row"], "a page; a row")])
async def test_what_was_damaged_is_shown_in_one_line(
    tmp_path: Path, damage: list[str], shown: str | None
) -> None:
    configuration = configured(tmp_path)
    store = store_of(configuration)
    opened = opened_of(store, configuration)
    opened.damage[:] = damage
    identity = identity_of(configuration, opened, b"\x01" * 8)
    assert identity.damage == shown
    assert identity.boot == "01" * 8
    assert identity.recovery == "new"
    store.close(clean=True)


@pytest.mark.parametrize("username", ["bridge", None])
def test_sessions_of_the_bridge_from_before_there_were_users_are_its_user_s(
    tmp_path: Path, username: str | None
) -> None:
    harness = Harness(tmp_path / "data")
    names = ["oncegate-bridge", "oncegate-bridge-0a1b2c3d", "oncegate-bridge-other", "other"]
    for name in names:
        harness.lose(harness.connect(name))
    (tmp_path / "p").touch(0o600)
    keys = {"access.password_file": tmp_path / "p", "bridge.username": username}
    give_bridge_its_sessions(harness.broker, configured(tmp_path, **keys))
    harness.commit()
    harness.cut()
    owners = [harness.session(name).username for name in names]
    assert owners == [username, username, None, None]
    harness.close()


def test_rules_and_users_hold_before_anything_of_the_last_run_goes_on(tmp_path: Path) -> None:
    harness = Harness(tmp_path)
    rules = FileRules(parse(b"allow user anna publish t\n", "f"))
    apply_rules(harness.broker, rules)
    client = harness.connect("c")
    assert client.closed, "a client without a user may do nothing, and so does not connect"
    apply_rules(harness.broker, None)
    assert not harness.connect("c").closed
    harness.close()
