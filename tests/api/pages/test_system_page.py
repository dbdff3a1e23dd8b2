"""The page about the gateway itself."""

import httpx

from tests.api.page_reader import read


async def test_it_has_counters_and_curves_of_the_gateway(recording: httpx.AsyncClient) -> None:
    words = (await read(recording, "/system")).words
    for shown in ("2, exactly once18,42336,846", "Messages received", "/s in this hour", "GB"):
        assert shown in words, shown
    assert "24 h ago" in (await read(recording, "/system?span=day")).words


async def test_without_a_history_there_are_no_curves_yet(
    client: httpx.AsyncClient, broker: object
) -> None:
    assert "No curves yet" in (await read(client, "/system")).words
