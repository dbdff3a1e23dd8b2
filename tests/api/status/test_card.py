"""The SD card on the page and in the REST interface, exactly as its own file reports it."""

import json
import os
from pathlib import Path
from typing import Any

import httpx
import pytest

from api import limits
from api.alarms.conditions.card import UPDATE_NEEDS_ATTENTION
from api.status.card import CardReader
from tests.api import recorded
from tests.api.card_files import CardFiles
from tests.api.contract_broker import ContractBroker
from tests.api.page_reader import HOSTILE, read, read_all

STATES = {
    "installing": ("Version 0.3.0 is being written into slot A", "leave the power on"),
    "failed": ("Version 0.3.0 was not installed: there is no room for it", "install again"),
    "installed": ("Version 0.3.0 waits for a restart", "`systemctl reboot` tries it"),
    "trial": ("Version 0.3.0 in slot A is on trial", "Nothing to do"),
    "unhealthy": ("Version 0.3.0 in slot A was given up: not healthy", "Slot B runs"),
    "returned": ("Version 0.3.0 in slot A did not stay: it did not start", "Slot B runs"),
    "interrupted": ("Version 0.3.0 was not installed in slot A: cut", "Slot B runs"),
}


@pytest.fixture
def files(tmp_path: Path) -> CardFiles:
    made = CardFiles(tmp_path)
    made.put()
    return made


def put_update(files: CardFiles, state: str) -> None:
    sentence, advice = STATES[state]
    update = {**recorded.card()["update"], "state": state, "slot": "A", "version": "0.3.0"}
    files.put(update={**update, "sentence": sentence, "advice": advice})


async def words_of(client: httpx.AsyncClient, *, status_code: int = 200) -> str:
    is_up = status_code == 200
    page = await read_all(client) if is_up else await read(client, status_code=status_code)
    return page.words.replace("\N{NO-BREAK SPACE}", " ")


async def test_the_page_shows_slots_versions_update_and_provisioning(
    client: httpx.AsyncClient, broker: ContractBroker, files: CardFiles
) -> None:
    words = await words_of(client)
    for shown in (
        "All is well",
        "SD card",
        "Runs fromslot B, version 0.2.0",
        "Slot Aversion 0.1.0",
        "Version 0.2.0 in slot B was healthy and is kept.",
        "2026-11-20 09:14:03 UTC",
        "The gateway is called cabinet-7",
        "Written to the card1.0 MiB since the start,",
    ):
        assert shown in words, shown


@pytest.mark.parametrize("state", sorted(STATES))
async def test_each_state_of_an_update_is_said_with_what_to_do_next(
    client: httpx.AsyncClient, broker: ContractBroker, files: CardFiles, state: str
) -> None:
    put_update(files, state)
    words = await words_of(client)
    sentence, advice = STATES[state]
    assert f"{sentence}." in words
    assert advice.replace("`", "") in words.replace("`", "")
    needs_a_look = "1 warning" in words
    assert needs_a_look == (state in UPDATE_NEEDS_ATTENTION)
    assert f"Needs a look: {sentence}." in words or not needs_a_look
    answer = (await client.get("/api/v1/card")).json()
    assert answer["facts"]["update"]["state"] == state
    assert answer["facts"]["update"]["sentence"] == sentence


async def test_a_clock_that_was_not_synchronised_is_said_beside_the_time(
    client: httpx.AsyncClient, broker: ContractBroker, files: CardFiles
) -> None:
    files.put(update={**recorded.card()["update"], "clock": "unsynchronised"})
    assert "09:14:03 UTC, by a clock that was not synchronised" in await words_of(client)


async def test_a_card_that_was_never_updated_states_how_that_is_done(
    client: httpx.AsyncClient, broker: ContractBroker, files: CardFiles
) -> None:
    files.put(update=None, other={"slot": "A", "version": None, "store_format": None})
    words = await words_of(client)
    assert "None is recorded. oncegate update --help describes how" in words
    assert "Slot Ano version known" in words


async def test_a_gateway_toml_that_was_refused_is_shown_with_its_line(
    client: httpx.AsyncClient, broker: ContractBroker, files: CardFiles
) -> None:
    mistake = "gateway.toml: [wifi] country is missing"
    lines = ["gateway.toml was not taken. What was set before still counts.", mistake]
    files.put(provisioning={"taken": False, "lines": lines})
    words = await words_of(client)
    assert f"Needs a look: {lines[0]} {mistake}" in words
    assert words.count(mistake) == 2
    files.put(provisioning=None)
    assert "No gateway.toml has been read from the boot partition yet." in await words_of(client)


async def test_a_record_that_was_damaged_needs_a_look(
    client: httpx.AsyncClient, broker: ContractBroker, files: CardFiles
) -> None:
    files.put(note="The record of updates was damaged and is begun again")
    assert "Needs a look: The record of updates was damaged" in await words_of(client)


async def test_where_there_is_no_card_nothing_is_said_of_one(
    client: httpx.AsyncClient, broker: ContractBroker, files: CardFiles
) -> None:
    files.file.unlink()
    assert "SD card" not in await words_of(client)
    response = await client.get("/api/v1/card")
    assert response.status_code == 404
    assert response.headers["content-type"] == "application/problem+json"
    assert "does not run from the SD card's image" in response.json()["detail"]


async def test_the_card_is_shown_while_the_broker_is_down(
    client: httpx.AsyncClient, files: CardFiles
) -> None:
    put_update(files, "trial")
    words = await words_of(client, status_code=503)
    assert "The gateway is down" in words
    assert "Version 0.3.0 in slot A is on trial." in words
    assert (await client.get("/api/v1/card")).status_code == 200


def bent(path: str, value: object) -> str:
    facts = recorded.card()
    place: Any = facts
    *parents, last = path.split(".")
    for each in parents:
        place = place[each]
    place[last] = value
    return json.dumps(facts)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "null",
        "[]",
        "{}",
        "[" * 100_000,
        " " * (limits.CARD_BYTES_MAX + 1),
        bent("booted.slot", "C"),
        bent("booted.version", ["1"]),
        bent("update.state", "fine"),
        bent("update.sentence", "x" * 601),
        bent("update.time_ms", 10**18),
        bent("update.time_ms", "1"),
        bent("provisioning.lines", ["x"] * 65),
        bent("device", "../../etc"),
        bent("device", "mmcblk0\n"),
        bent("device", "a" * 33),
    ],
    ids=range(16),
)
async def test_a_damaged_file_is_said_so_and_the_rest_of_the_page_stays(
    client: httpx.AsyncClient, broker: ContractBroker, files: CardFiles, text: str
) -> None:
    files.file.write_text(text)
    words = await words_of(client)
    assert "Needs a look: The card's own report cannot be read" in words
    assert "18,423 published" in words
    answer = (await client.get("/api/v1/card")).json()
    assert answer["facts"] is None
    assert "cannot be read" in answer["problem"]


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
async def test_what_is_no_file_is_not_read(
    client: httpx.AsyncClient, broker: ContractBroker, files: CardFiles, kind: str
) -> None:
    files.file.rename(files.file.with_suffix(".other"))
    if kind == "link":
        files.file.symlink_to(files.file.with_suffix(".other"))
    elif kind == "pipe":
        os.mkfifo(files.file)
    else:
        files.file.mkdir()
    assert "The card's own report cannot be read" in await words_of(client)


async def test_hostile_words_stay_words(
    client: httpx.AsyncClient, broker: ContractBroker, files: CardFiles
) -> None:
    update = {**recorded.card()["update"], "sentence": HOSTILE, "version": HOSTILE}
    slot = {"slot": "A", "version": HOSTILE, "store_format": 1}
    lines = [HOSTILE, "\u202e`" + HOSTILE]
    files.put(
        update={**update, "state": "failed", "advice": f"`{HOSTILE}"}, note=HOSTILE, other=slot,
        provisioning={"taken": False, "lines": lines},
    )  # fmt: skip
    page = await read_all(client)
    assert not [name for name, _ in page.elements if name == "img"]
    assert "alert(1)" in page.text
    assert "\u202e" not in page.text


@pytest.mark.parametrize("counters", ["", "1 2 3", "a b c d e f g", "1 1 1 1 1 1 -5", None])
def test_counters_that_are_missing_or_impossible_leave_the_wear_out(
    files: CardFiles, counters: str | None
) -> None:
    stat = files.block_devices / "mmcblk0" / "stat"
    stat.unlink() if counters is None else stat.write_text(counters)
    report = CardReader(files.file, files.block_devices).read()
    assert report
    assert report.facts
    assert report.wear is None
    files.put(device=None)
    assert CardReader(files.file, files.block_devices).read() is not None


async def test_the_reference_lists_the_card(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    assert "/api/v1/card" in (await client.get("/docs")).text
