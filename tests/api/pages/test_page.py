"""The HTML page as the server sends it."""

import re
from pathlib import Path
from urllib.parse import quote

import httpx
import pytest

from tests.api import recorded
from tests.api.alarms.gateway import warning
from tests.api.contract_broker import ContractBroker
from tests.api.page_reader import HOSTILE, PAGES, Reader, read, read_all
from tests.peers.control_server import refusal, result


async def test_the_page_shows_everything_at_a_glance(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    words = (await read_all(client)).words
    for shown in (
        "All is well",
        "Up for 3 h 12 min",
        "18,423 published, 0 waiting, delivered in 8 ms",
        "temperature 21.5 °C 0.4 s",
        "relative humidity 48.2 % RH",
        "pressure 101,325 Pa",
        "Damagedchecksum: 2",
        "/dev/serial/by-id/usb-u-blox_7-if00",
        "archive user bridge away MQTT 3.1.1, persistent",
        "2, exactly once18,42336,846",
        "up to event 92,850, 30 to go",
        "12 segments, 117.2 KiB, the last 42 s ago",
    ):
        assert shown in words, shown


async def test_the_page_shows_how_old_its_numbers_are(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    words = (await read_all(client)).words
    assert re.search(r"Numbers \d+(\.\d)? s old, from 2026-11-21 09:14:03 UTC", words)
    assert "not synchronised" not in words
    assert re.search(r"The bridge reported (0\.[6-9]|[1-9]\d*(\.\d)?) s ago", words)
    assert re.search(r"The uploader reported (0\.9|[1-9]\d*(\.\d)?) s ago", words)


async def test_a_full_disk_is_the_first_thing_that_the_page_shows(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    broker.status["disk"] = recorded.full_disk()
    broker.status["warnings"] = [warning("Nothing new is taken.", "disk_full")]
    page = await read_all(client)
    words = page.words.replace("\N{NO-BREAK SPACE}", " ")
    for shown in (
        "Disk is full Up for",
        "Nothing new has been accepted for 5 min: 85.8 MiB of 14.9 GiB are free, and 128.0 MiB",
        "Stored messages are still delivered and uploaded",
        "the gateway then continues by itself",
        "Disk85.8 MiB of 14.9 GiB free",
        "Files removed to free spacesent: 12",
    ):
        assert shown in words, shown
    assert "nothing new is taken" not in words
    assert any("bad" in (found.get("class") or "") for tag, found in page.elements if tag == "li")


async def test_a_batch_that_waits_for_room_is_said_as_well(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    broker.status["disk"] = recorded.full_disk(waits=True, free_bytes=0)
    assert "cannot be written yet, and are not acknowledged" in (await read(client)).words


async def test_a_clock_that_is_not_synchronised_is_said_beside_the_time(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    broker.status["clock"] = "unsynchronised"
    words = (await read_all(client)).words
    assert "The gateway's clock is not synchronised" in words
    assert "from 2026-11-21 09:14:03 UTC (the clock is not synchronised)" in words
    assert "Clocknot synchronised" in words
    assert "1 warning" in words


@pytest.mark.parametrize("clock", ["synchronised", "unknown"])
async def test_a_clock_of_which_nothing_bad_is_known_spoils_nothing(
    client: httpx.AsyncClient, broker: ContractBroker, clock: str
) -> None:
    broker.status["clock"] = clock
    words = (await read_all(client)).words
    assert "All is well" in words
    assert f"Clock{clock}" in words


async def test_a_board_that_reuses_its_numbers_is_named_in_its_row(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    port = broker.reports["bridge"]["status"]["ports"][0]
    port["repeated_starts"] = 2
    port["devices"][0]["boot"] = 2 * 2**32 + 3
    words = (await read_all(client)).words
    assert "board-0000002a start 3 (numbers reused, start 2), reading 6,140" in words
    assert "Numbers reused2 starts" in words


async def test_line_errors_and_openings_for_silence_are_shown_at_their_port(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    port = broker.reports["bridge"]["status"]["ports"][0]
    port["line_errors"] = {"overrun": 3, "framing": 12, "parity": 0}
    port["resets"] = 2
    words = (await read_all(client)).words
    assert "Line errorsoverrun: 3, framing: 12" in words
    assert words.count("Line errors") == 1, "the other port has none"
    assert "Reopened because of silence2 times" in words


async def test_a_bridge_that_fell_silent_is_said_first(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    broker.reports["bridge"]["age_seconds"] = 95.0
    words = (await read(client)).words
    assert "Running, 1 warning" in words
    assert "The bridge has been silent for 95 s" in words


async def test_a_gateway_that_is_down_reports_it_and_how_to_fix_it(
    client: httpx.AsyncClient, status_socket: Path
) -> None:
    response = await client.get("/")
    assert response.status_code == 503
    assert response.headers["retry-after"] == "2"
    words = Reader(response.text).words
    for shown in (
        "The gateway is down",
        f"there is no status socket {status_socket}",
        "oncegate broker",
        "No answer since this page started",
    ):
        assert shown in words


async def test_a_gateway_that_went_down_is_still_named_with_the_time_of_its_last_word(
    client: httpx.AsyncClient, broker: ContractBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("api.limits.ANSWER_REUSE_SECONDS", 0.0)
    await read(client)
    await broker.stop()
    words = (await read(client, status_code=503)).words
    assert "gw-5f3a91c2" in words
    assert "The last numbers are from 2026-11-21 09:14:03 UTC" in words


async def test_hostile_names_stay_text_wherever_they_are_shown(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    broker.status.update(
        gateway=HOSTILE,
        version=HOSTILE,
        state=HOSTILE,
        warnings=[{"id": HOSTILE, "subject": HOSTILE, "sentence": HOSTILE, "fix": HOSTILE}],
    )
    broker.status["errors"] = {HOSTILE: 1}
    broker.status["store"] = {"recovery": HOSTILE, "detail": HOSTILE}
    broker.status["listeners"] = [{"protocol": HOSTILE, "path": HOSTILE}]
    port = broker.reports["bridge"]["status"]["ports"][0]
    port.update(name=HOSTILE, path=HOSTILE, framing=HOSTILE, state=HOSTILE, damaged={HOSTILE: 1})
    port["devices"][0]["device"] = HOSTILE
    port["devices"][0]["quantities"] = [recorded.quantity(HOSTILE, HOSTILE, HOSTILE)]
    broker.reports["uploader"]["status"].update(target=HOSTILE, error=HOSTILE)
    broker.sessions = [recorded.session(HOSTILE, address=HOSTILE)]
    device = "/sensors/" + quote(HOSTILE, safe="")
    for path in (*PAGES, device, "/session?client_id=" + "%3Cimg%3E"):
        response = await client.get(path)
        elements = Reader(response.text).elements
        scripts = [attributes for tag, attributes in elements if tag == "script"]
        assert [script["src"].split("?")[0] for script in scripts if script["src"]] == [
            "/assets/live.js"
        ]
        assert all(tag != "img" for tag, _ in elements)
        assert not any(name.startswith("on") for _, found in elements for name in found)
        assert "49" not in Reader(response.text).words.replace("2049", "")


async def test_characters_that_hide_or_reorder_are_shown(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    broker.sessions = [recorded.session("photo\u202egnp.exe\x07")]
    page = await read(client, "/clients")
    assert r"photo\u{202e}gnp.exe\u{7}" in page.words
    assert "\u202e" not in page.text


async def test_a_page_of_the_longest_client_ids_stays_small(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    broker.sessions = [recorded.session(f"{index:02}" + "w" * 6_000) for index in range(50)]
    response = await client.get("/clients")
    assert "and 5,906 more characters" in response.text
    assert len(response.content) < 150_000


async def test_sessions_are_paged_and_every_session_is_linked_once(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    ids = [f"client {index:03} &?#/" for index in range(120)]
    broker.sessions = [recorded.session(client_id) for client_id in ids]
    path: str | None = "/clients"
    linked: list[str] = []
    while path is not None:
        page = await read(client, path)
        links = [found["href"] or "" for tag, found in page.elements if tag == "a"]
        linked += [
            httpx.URL(link).params["client_id"] for link in links if link.startswith("/session?")
        ]
        path = next((link for link in links if link.startswith("/clients?after=")), None)
    assert linked == ids


async def test_a_session_has_a_page_with_its_subscriptions_and_messages(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    words = (await read(client, "/session?client_id=phone")).words
    for shown in ("phone", "sensors/#2", "commands/+1", "174,0212awaiting pubrec"):
        assert shown in words


async def test_an_unknown_session_has_a_page_that_reports_it(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    words = (await read(client, "/session?client_id=no%3Cbody", status_code=404)).words
    assert "The broker has no session for client id no<body" in words


async def test_sessions_that_cannot_be_had_leave_the_rest_of_the_page(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    broker.instead = lambda request: (
        refusal("failed", "the sessions are too many")
        if request["command"] == "sessions"
        else broker.contract_answer_of(request)
    )
    words = (await read_all(client)).words
    assert "The sessions cannot be shown: the sessions are too many" in words
    assert "21.5 °C" in words


async def test_an_empty_gateway_states_what_to_do_next(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    broker.sessions = []
    broker.reports["bridge"]["status"]["ports"] = []
    words = (await read_all(client)).words
    assert "No client has a session. Connect one to 127.0.0.1:1883" in words
    assert "An operator adds one here, or a [[serial]] table" in words


async def test_a_next_page_that_no_address_can_name_is_explained(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    broker.instead = lambda request: (
        result({"sessions": [recorded.session("one")], "next": "w" * 65_500})
        if request["command"] == "sessions"
        else broker.contract_answer_of(request)
    )
    page = await read(client, "/clients")
    assert "oncegate ctl sessions" in page.words
    assert not any("after=" in (found.get("href") or "") for _, found in page.elements)


async def test_without_an_uplink_none_is_shown(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    assert "uplink" not in (await read_all(client)).words.lower()


async def test_an_uplink_is_shown_where_there_is_one(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    kept = {"time_ms": recorded.NOW_MS - 600, "age_seconds": 0.6}
    broker.reports["uplink"] = kept | {"status": recorded.uplink_status()}
    words = (await read_all(client)).words
    assert re.search(r"The uplink reported 0\.[6-9] s ago", words)
    for shown in ("Upstream brokerup.example:8883", "Sent there20,812", "Fetched from there17"):
        assert shown in words, words


async def test_an_uplinks_report_that_cannot_be_read_is_shown_as_such(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    kept = {"time_ms": recorded.NOW_MS - 600, "age_seconds": 0.6}
    broker.reports["uplink"] = kept | {"status": {"remote": HOSTILE}}
    assert "The uplink's report cannot be read" in (await read_all(client)).words
