"""The log page, and the handshakes on a client's page, at a real broker."""

from pathlib import Path

from api import limits
from tests.api.exchanges import connected, exactly_once, site_with_exchanges
from tests.api.page_reader import read


async def test_the_log_shows_the_newest_events_first_and_older_ones_on_request(
    tmp_path: Path,
) -> None:
    async with (
        site_with_exchanges(tmp_path, limits.EVENTS_PER_PAGE) as at,
        at.browser("anna") as browser,
    ):
        first = (await browser.get("/log?kind=messages")).text
        assert "Message released" in first
        assert "press/force" in first
        older = first.partition('rel="next"')[0].rpartition('href="')[2].partition('"')[0]
        second = (await browser.get(older.replace("&amp;", "&"))).text
        assert second.count("<time") > limits.EVENTS_PER_PAGE // 2
        assert "Newest" in second


async def test_the_log_is_filtered_by_client_kind_and_port(tmp_path: Path) -> None:
    async with site_with_exchanges(tmp_path) as at, at.browser("anna") as browser:
        assert "Connected" in (await read(browser, "/log?client_id=press")).words
        assert "Connected" not in (await read(browser, "/log?client_id=press&kind=messages")).words
        assert "No event matches" in (await read(browser, "/log?client_id=nobody")).words
        assert "No event matches" in (await read(browser, "/log?port=gps")).words
        assert "Broker started" in (await read(browser, "/log?kind=gateway")).words
        assert (await browser.get("/log?kind=x")).status_code == 422


async def test_a_client_s_page_shows_its_handshakes_in_order(tmp_path: Path) -> None:
    async with site_with_exchanges(tmp_path) as at, at.browser("anna") as browser:
        words = (await read(browser, "/session?client_id=press")).words
        places = [
            words.index(step)
            for step in ("Connected, new", "PUBLISH 1, QoS 2", "PUBREC 1", "PUBREL 1", "PUBCOMP 1")
        ]
        assert places == sorted(places)
        assert "Synced to disk" in words


async def test_a_session_that_has_ended_keeps_its_handshakes_for_a_while(tmp_path: Path) -> None:
    async with site_with_exchanges(tmp_path, 0) as at, at.browser("anna") as browser:
        await (await connected(at, "press")).subscribe(("press/#", 1))
        client = await connected(at, "brief", clean=True)
        await exactly_once(client, 1)
        await client.disconnect()
        words = (await read(browser, "/session?client_id=brief", status_code=404)).words
        assert "No such session" in words
        assert "PUBREL" in words


async def test_a_hostile_topic_stays_text(tmp_path: Path) -> None:
    async with site_with_exchanges(tmp_path, 0) as at, at.browser("anna") as browser:
        client = await connected(at, "press")
        await exactly_once(client, 1, "<script>alert(1)</script>\u202e")
        for path in ("/log", "/session?client_id=press"):
            text = (await browser.get(path)).text
            assert "&lt;script&gt;" in text
            assert "<script>alert" not in text
            assert "\u202e" not in text
