"""The history in the REST interface, as JSON and CSV."""

import csv
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from tests.api import recorded
from tests.api.conftest import DEADLINE_SECONDS, serving
from tests.api.contract_broker import ContractBroker

TEMPERATURE = "sensors/board-0000002a/temperature"


@pytest.fixture
async def recording(
    broker: ContractBroker, status_socket: Path, tmp_path: Path
) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a client of a page that has recorded one response of the broker."""
    async with (
        serving(status_socket, history_dir=tmp_path / "history") as url,
        httpx.AsyncClient(base_url=url, timeout=DEADLINE_SECONDS) as client,
    ):
        while not (await client.get("/api/v1/history/series")).json()["series"]:
            pass  # The page makes its first record after the start.
        yield client


async def test_series_are_listed_with_their_units(recording: httpx.AsyncClient) -> None:
    answer = (await recording.get("/api/v1/history/series")).json()
    assert {"name": TEMPERATURE, "unit": "Cel"} in answer["series"]
    assert {"name": "gateway/queued_messages", "unit": ""} in answer["series"]
    assert (answer["refused"], answer["problem"]) == (0, None)


@pytest.mark.parametrize(
    ("given", "step"),
    [({}, 5), ({"step": "60"}, 60), ({"from": str(recorded.NOW_MS - 10**8)}, 900)],
)
async def test_points_have_lowest_mean_highest_and_last(
    recording: httpx.AsyncClient, given: dict[str, str], step: int
) -> None:
    answer = (
        await recording.get("/api/v1/history", params={"series": TEMPERATURE, **given})
    ).json()
    assert answer["step_seconds"] == step
    (series,) = answer["series"]
    point = dict.fromkeys(("low", "mean", "high", "last"), 21.5)
    shown_ms = (recorded.NOW_MS - 400) // (step * 1000) * step * 1000
    assert series["points"] == [{"time_ms": shown_ms, **point}]


async def test_csv_comes_by_parameter_and_by_accept(recording: httpx.AsyncClient) -> None:
    params = {"series": [TEMPERATURE, "gateway/connections"]}
    by_parameter = await recording.get("/api/v1/history", params={**params, "format": "csv"})
    by_accept = await recording.get(
        "/api/v1/history", params=params, headers={"Accept": "text/csv"}
    )
    assert by_parameter.text == by_accept.text
    assert by_accept.headers["content-type"] == "text/csv; charset=utf-8"
    rows = list(csv.DictReader(by_accept.text.splitlines()))
    assert [(row["series"], row["last"]) for row in rows] == [
        (TEMPERATURE, "21.5"),
        ("gateway/connections", "3.0"),
    ]
    assert rows[0]["time"] == "2026-11-21T09:14:00Z"


@pytest.mark.parametrize(
    ("given", "status"),
    [
        ({}, 422),
        ({"series": "sensors/none/such"}, 404),
        ({"series": TEMPERATURE, "step": "7"}, 422),
        ({"series": TEMPERATURE, "from": "yesterday"}, 422),
        ({"series": TEMPERATURE, "from": "-1"}, 422),
        ({"series": TEMPERATURE, "to": str(2**70)}, 422),
        ({"series": [TEMPERATURE] * 11}, 422),
        ({"series": TEMPERATURE, "format": "xml"}, 422),
    ],
)
async def test_what_cannot_be_answered_is_refused(
    recording: httpx.AsyncClient, given: dict[str, str | list[str]], status: int
) -> None:
    response = await recording.get("/api/v1/history", params=given)
    assert response.status_code == status
    assert response.headers["content-type"] == "application/problem+json"


async def test_a_name_that_is_a_formula_is_quoted_in_csv(
    broker: ContractBroker, recording: httpx.AsyncClient
) -> None:
    answer = await recording.get("/api/v1/history", params={"series": TEMPERATURE, "format": "csv"})
    assert not any(line.startswith(("=", "+", "@")) for line in answer.text.split(","))
