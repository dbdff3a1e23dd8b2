"""Whatever a sensor makes the bridge report, the page is shown and the rest of it is correct."""

import copy
import json
from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from api.status.control_socket import ControlSocket
from tests.api import recorded
from tests.api.contract_broker import ContractBroker
from tests.api.page_reader import PAGES

HUGE_MS = 1_000_000_000_000_000
"""A sensor's time of 1e12 seconds, in milliseconds."""

Json = dict[str, Any]


def first_device(broker: ContractBroker) -> Json:
    device: Json = broker.reports["bridge"]["status"]["ports"][0]["devices"][0]
    return device


async def page_of(client: httpx.AsyncClient) -> str:
    responses = [await client.get(path) for path in PAGES]
    for response in responses:
        assert response.status_code == 200, response.text
    return "\n".join(response.text for response in responses)


@pytest.mark.parametrize("place", ["name", "value", "unit"])
async def test_half_a_surrogate_pair_from_a_sensor_is_shown_as_a_replacement_character(
    client: httpx.AsyncClient, broker: ContractBroker, place: str
) -> None:
    first_device(broker)["quantities"][3][place] = "wind\ud800speed"
    html = await page_of(client)
    assert "wind\ufffdspeed" in html
    assert "21.5" in html
    reported = (await client.get("/api/v1/serial")).json()
    assert reported["status"]["ports"][0]["devices"][0]["quantities"][3][place] == "wind\ufffdspeed"


async def test_whole_characters_beside_half_a_pair_stay_as_they_are(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    first_device(broker)["quantities"][3]["value"] = "\U0001f321\udc00"
    assert "\U0001f321\ufffd" in await page_of(client)


@pytest.mark.parametrize("time_ms", [HUGE_MS, -1, 10**40, float("nan"), float("inf"), "now", {}])
async def test_a_time_that_no_calendar_has_is_shown_as_unknown(
    client: httpx.AsyncClient, broker: ContractBroker, time_ms: object
) -> None:
    first_device(broker)["quantities"][0]["time_ms"] = time_ms
    html = await page_of(client)
    assert "21.5" in html
    assert "unreadable" in html
    quantity = (await client.get("/api/v1/serial")).json()["status"]["ports"][0]["devices"][0][
        "quantities"
    ][0]
    assert quantity["time_ms"] is None
    assert quantity["value"] == 21.5
    assert quantity["unreadable"] == ["time_ms"]


@pytest.mark.parametrize(
    "value",
    [float("nan"), float("-inf"), 10**309, [1], {"a": 1}],
    ids=["nan", "inf", "long", "list", "object"],
)
async def test_a_value_that_is_no_number_is_shown_as_unreadable(
    client: httpx.AsyncClient, broker: ContractBroker, value: object
) -> None:
    first_device(broker)["quantities"][0]["value"] = value
    html = await page_of(client)
    assert "unreadable" in html
    assert "48.2" in html


async def test_one_ports_unreadable_report_leaves_the_other_port_as_it_is(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    broker.reports["bridge"]["status"]["ports"][0] = ["no", "port"]
    html = await page_of(client)
    assert "usb-u-blox_7" in html
    assert "48.1173" in html


async def test_a_report_nested_too_deeply_is_read_past(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    deep: object = 1
    for _ in range(300):
        deep = [deep]
    first_device(broker)["quantities"][0]["value"] = deep
    assert "48.2" in await page_of(client)


ODD_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=10**15, max_value=10**40)
    | st.floats()
    | st.text(st.characters(categories=["L", "N", "P", "S", "Z", "C", "M"]), max_size=20)
    | st.sampled_from(["\ud800", "\udfff\ud800", "\x00", "\u202e", 1e12, HUGE_MS, -(2**63) - 1]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


def places_in(value: object, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path of every value inside a report."""
    children: list[tuple[Any, object]] = []
    if isinstance(value, dict):
        children = list(value.items())
    elif isinstance(value, list):
        children = list(enumerate(value))
    return [path, *(place for key, child in children for place in places_in(child, (*path, key)))]


PLACES = [place for place in places_in(recorded.bridge_status()) if place]


def with_odd_value(report: Json, place: tuple[Any, ...], odd: object) -> Json:
    bent = copy.deepcopy(report)
    inner: Any = bent
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = odd
    return bent


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.sampled_from(PLACES), odd=ODD_VALUES)
async def test_no_value_in_a_bridges_report_breaks_the_page(
    client: httpx.AsyncClient,
    broker: ContractBroker,
    every_answer_new: None,
    place: tuple[Any, ...],
    odd: object,
) -> None:
    broker.reports["bridge"]["status"] = with_odd_value(recorded.bridge_status(), place, odd)
    html = await page_of(client)
    assert "archive" in html
    response = await client.get("/api/v1/serial")
    assert response.status_code == 200
    json.loads(response.content)


@pytest.fixture
def every_answer_new(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("api.limits.ANSWER_REUSE_SECONDS", 0.0)


async def test_a_number_with_thousands_of_digits_is_read_as_a_number(
    broker: ContractBroker, status_socket: Any
) -> None:
    broker.instead = lambda _: b'{"ok":true,"result":{"value":1' + b"0" * 5_000 + b"}}\n"
    asker = ControlSocket(status_socket)
    assert await asker.request({"command": "reports"}) == {"value": float("inf")}
    asker.close()
