"""The pages with all sensors and with one sensor."""

from urllib.parse import quote

import httpx
import pytest

from api import limits
from tests.api import recorded
from tests.api.contract_broker import ContractBroker
from tests.api.page_reader import HOSTILE, Reader, read

DEVICE = "/sensors/board-0000002a"


async def test_a_device_has_a_page_with_a_curve_for_each_quantity(
    recording: httpx.AsyncClient,
) -> None:
    page = await read(recording, DEVICE)
    words = page.words.replace("\N{NO-BREAK SPACE}", " ")
    for shown in (
        "temperature 21.5 °C 0.4 s ago, 19.3 to 23.7 in this hour",
        "60 min ago45 min30 min15 minnow",
        "MQTT topicsensors/board-0000002a/+",
        "Numberingstart 3, reading 6,140",
        "board, 6,142 frames, 2 damaged",
        "Values of temperature as a table",
    ):
        assert shown in words, (shown, words)
    labels = [found["aria-label"] for tag, found in page.elements if tag == "svg"]
    assert any(
        str(label).startswith("temperature in the last hour: 19.3 to 23.7 °C") for label in labels
    )


@pytest.mark.parametrize(("span", "words"), [("day", "24 h ago"), ("month", "21 Oct")])
async def test_a_day_and_a_month_are_shown(
    recording: httpx.AsyncClient, span: str, words: str
) -> None:
    page = await read(recording, f"{DEVICE}?span={span}")
    assert words in page.words
    assert f"in this {span}" in page.words
    current = [found for tag, found in page.elements if found.get("aria-current") == "true"]
    assert [found["href"] for found in current] == [f"{DEVICE}?span={span}"]


async def test_the_csv_link_leads_to_what_is_shown(recording: httpx.AsyncClient) -> None:
    page = await read(recording, DEVICE)
    (link,) = [found["href"] or "" for tag, found in page.elements if found.get("class") == "csv"]
    answer = await recording.get(link)
    assert answer.status_code == 200
    lines = answer.text.splitlines()
    assert lines[0] == "time,series,unit,low,mean,high,last"
    assert len([line for line in lines if "/temperature," in line]) > 700


async def test_an_unknown_device_and_an_unknown_span_are_refused(
    recording: httpx.AsyncClient,
) -> None:
    words = (await read(recording, "/sensors/no%3Cbody", status_code=404)).words
    assert "The bridge reports no device no<body" in words
    assert (await recording.get(f"{DEVICE}?span=year")).status_code == 422


async def test_a_device_with_a_hostile_name_has_a_page(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    device = broker.reports["bridge"]["status"]["ports"][0]["devices"][0]
    device["device"] = HOSTILE
    device["quantities"] = [recorded.quantity(HOSTILE, HOSTILE, HOSTILE)]
    page = await read(client, "/sensors/" + quote(HOSTILE, safe=""))
    assert "alert(1)" in page.text
    assert all(tag != "img" for tag, _ in page.elements)
    overview = await read(client)
    (link,) = [
        found["href"] or ""
        for tag, found in overview.elements
        if (found.get("href") or "").startswith("/sensors/%3C")
    ]
    assert "alert(1)" in (await read(client, link)).text


async def test_the_overview_has_curves_and_stays_small(recording: httpx.AsyncClient) -> None:
    page = await read(recording)
    curves = [found for tag, found in page.elements if found.get("class") == "curve small"]
    assert len(curves) >= 4
    assert "19.3 to 23.7" in page.words


async def test_the_first_view_of_many_devices_is_below_60_kb_compressed(
    recording: httpx.AsyncClient, broker: ContractBroker
) -> None:
    (device,) = broker.reports["bridge"]["status"]["ports"][0]["devices"]
    broker.reports["bridge"]["status"]["ports"][0]["devices"] = [
        {**device, "device": f"board-{number:08x}"} for number in range(42, 106)
    ]
    size = 0
    page = Reader((await recording.get("/")).text)
    assets = [found.get("href") or found.get("src") or "" for _, found in page.elements]
    for address in ("/", *(each for each in assets if each.startswith("/assets/"))):
        async with recording.stream("GET", address) as response:
            size += sum([len(part) async for part in response.aiter_raw()])
    assert size < 60_000


async def test_without_the_broker_each_page_reports_it(
    client: httpx.AsyncClient,
) -> None:
    for path in ("/sensors", DEVICE, "/system", "/clients"):
        assert "The gateway is down" in (await read(client, path, status_code=503)).words


async def test_a_device_shows_its_state_in_home_assistant(
    client: httpx.AsyncClient, broker: ContractBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "ANSWER_REUSE_SECONDS", 0.0)
    words = (await read(client, DEVICE)).words
    for shown in (
        "Home Assistant can show this device.",
        "online, 1 h 0 min ago",
        "Described quantities (1)",
        "°C",
        "measurement",
        "sensors/board-0000002a/temperature",
        "gateway/gw-5f3a91c2/availability/greenhouse",
    ):
        assert shown in words.replace("\N{NO-BREAK SPACE}", " "), (shown, words)
    broker.reports["bridge"]["status"]["home_assistant"] = None
    assert "discovery is off" in (await read(client, DEVICE)).words
