"""The parts of a broker from its configuration and its data directory."""

import asyncio
from pathlib import Path

import pytest

from gateway.configuration import Configuration, load
from gateway.server.starting import JOURNAL_FILES, identity_of, opened_of, store_of, users_of


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
