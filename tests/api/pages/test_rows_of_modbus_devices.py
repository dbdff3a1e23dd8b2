"""Rows for polled devices: registers without a value, and devices that have never responded."""

from typing import Any

import httpx
import pytest

from tests.api import recorded
from tests.api.contract_broker import ContractBroker
from tests.api.page_reader import HOSTILE, read


def modbus_port(*devices: dict[str, Any]) -> dict[str, Any]:
    """Return the recorded GPS port, changed into a Modbus line with these devices."""
    port: dict[str, Any] = recorded.bridge_status()["ports"][1]
    return port | {"name": "rs485", "framing": "modbus", "devices": list(devices)}


def device(name: str, **bent: object) -> dict[str, Any]:
    """Return a device as the bridge lists it before its first response."""
    return {
        "device": name,
        "boot": None,
        "sequence": None,
        "last_ms": None,
        "silent_seconds": None,
        **recorded.UNASKED,
        "quantities": [],
        **bent,
    }


ANSWERS = {"boot": 1, "sequence": 7, "last_ms": recorded.NOW_MS - 400}


async def words_of(client: httpx.AsyncClient, broker: ContractBroker, *devices: Any) -> str:
    broker.reports["bridge"]["status"]["ports"] = [modbus_port(*devices)]
    return (await read(client, "/sensors")).words.replace("\N{NO-BREAK SPACE}", " ")


@pytest.mark.parametrize(
    ("reason", "shown"),
    [
        ("exception_2", "exception 2"),
        ("no_answer", "no answer"),
        ("no_value", "no value"),
        ("not_measured", "not measured"),
        ("value", "value"),
    ],
)
async def test_what_a_device_does_not_give_has_a_row_with_its_register_and_the_reason(
    client: httpx.AsyncClient, broker: ContractBroker, reason: str, shown: str
) -> None:
    missing = {"name": "power_factor", "place": "holding 104 to 105", "reason": reason}
    current = recorded.quantity("current", 1.5, "A")
    words = await words_of(
        client, broker, device("pm", **ANSWERS, quantities=[current], unread=[missing])
    )
    assert f"current 1.5 A 0.4 s power factor {shown} (holding 104 to 105)" in words


async def test_a_device_that_has_never_answered_is_listed_as_such(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    words = await words_of(
        client,
        broker,
        device("pm", **ANSWERS, quantities=[recorded.quantity("current", 1.5, "A")]),
        device("gone", failed={"count": 3, "reason": "no_answer"}),
    )
    assert "gone no answer: 3 requests has sent nothing yet no quantity yet" in words
    assert "pm has sent nothing" not in words


async def test_two_failed_requests_are_no_badge_yet(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    words = await words_of(client, broker, device("pm", failed={"count": 2, "reason": "no_answer"}))
    assert "no answer" not in words


async def test_names_and_places_of_a_device_are_text_and_never_elements(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    missing = {"name": HOSTILE, "place": HOSTILE, "reason": HOSTILE}
    broker.reports["bridge"]["status"]["ports"] = [
        modbus_port(device(HOSTILE, **ANSWERS, unread=[missing]))
    ]
    page = await read(client, "/sensors")
    assert "alert(1)" in page.text
    assert not any(found.get("src") == "x" for _, found in page.elements)
