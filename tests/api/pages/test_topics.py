"""The page of topics: the tree, roles that see payloads, and forms to publish and to clear."""

from pathlib import Path

import httpx

from tests.api import recorded_topics
from tests.api.acting import site
from tests.api.contract_broker import ContractBroker
from tests.api.page_reader import HOSTILE, read
from tests.api.pages.test_actions import sent
from tests.peers.mqtt_bytes import Kind, packet, string


async def test_topics_are_a_tree_with_retained_and_latest_messages(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    page = await read(client, "/topics?search=h&below=house&retained=true")
    asked = broker.of("topics")[-1]
    assert {name: asked[name] for name in ("search", "below", "retained", "after")} == {
        "search": "h",
        "below": "house",
        "retained": True,
        "after": "",
    }
    words = page.words
    assert "off latest 60 s ago, QoS 1, 3 B, from phone" in words.replace("\N{NO-BREAK SPACE}", " ")
    assert "on retained" in words
    assert "ff00" in words
    assert "very/deep/in/the/cellar/behind/the/door" in words


async def test_hostile_topics_and_payloads_stay_words(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    message = recorded_topics.topic_message(HOSTILE, client_id=HOSTILE)
    broker.topics = [
        recorded_topics.topic(HOSTILE, message),
        recorded_topics.topic("x/" * 30_000, None, message),
    ]
    page = await read(client, "/topics")
    assert "script" not in [tag for tag, found in page.elements if "src" not in found]
    assert len(page.words) < 20_000


async def test_an_operator_publishes_and_clears_with_forms_and_a_viewer_sees_no_payload(
    tmp_path: Path,
) -> None:
    async with site(tmp_path) as at, at.browser("ben") as browser, at.browser("anna") as viewer:
        done = await sent(
            browser,
            "/actions/publish?topic=house/lamp",
            topic="house/lamp",
            payload="line 1\r\nline 2",
            qos="2",
            retain="yes",
        )
        assert "The message is retained, so later subscribers do." in done.text
        unheard = await sent(browser, "/actions/publish", topic="house/other", payload="1")
        assert "so the message was dropped" in unheard.text
        assert "mosquitto_sub -t '<bdi>house/other</bdi>'" in unheard.text
        shown = (await browser.get("/topics")).text
        assert "line 1" in shown
        assert "/actions/clear-retained?topic=house/lamp" in shown
        (retained,) = at.broker.running.event_loop.broker.state.retained.values()
        assert retained.payload == b"line 1\nline 2"
        shown = (await viewer.get("/topics")).text
        assert "house/lamp" in shown
        assert "line 1" not in shown
        assert "/actions/" not in shown
        asked = (await browser.get("/actions/clear-retained?topic=house/lamp")).text
        assert 'href="/topics">Cancel' in asked
        cleared = await sent(browser, "/actions/clear-retained?topic=house/lamp")
        assert "no retained message now" in cleared.text
        assert not at.broker.running.event_loop.broker.state.retained
        again = await browser.post("/actions/clear-retained", data={"topic": "house/lamp"})
        assert again.status_code == 403
        refused = await sent(browser, "/actions/publish", topic="a/#", payload="1")
        assert refused.status_code == 400
        assert "wildcard" in refused.text
        assert (await viewer.get("/actions/publish")).status_code == 403


async def test_what_access_rules_deny_is_shown_with_the_rule_to_add(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    plc = {"client_id": "plc", "username": "line 1", "topic": "plant/x", "count": 3}
    broker.status["denied_last_hour"] = [
        plc | {"reason": "publish_not_authorized", "rule": 'allow user "line 1" publish plant/x'},
        plc | {"reason": "receive_not_authorized", "rule": None},
    ]
    words = (await read(client, "/topics")).words
    assert "Denied by access rules in the last hour (1)" in words
    assert 'plc may not publish to plant/x (3 times). To allow it: allow user "line 1" ' in words


async def test_a_subscriber_that_may_not_read_is_named_with_the_rule(tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.write_text(
        "deny anyone receive shut\nallow user ben publish #\nallow anyone subscribe #\n"
    )
    async with site(tmp_path, access__rules_file=rules) as at, at.browser("ben") as browser:
        reader = await at.broker.client(at.port, "reader")
        reader.send(packet(Kind.SUBSCRIBE, 2, b"\0\1\0" + string("shut") + b"\1"))
        await reader.packet()
        done = await sent(browser, "/actions/publish", topic="shut", payload="1")
        assert "1 subscribed client may not read it" in done.text
        assert "allow user NAME subscribe <bdi>shut</bdi>" in done.text
