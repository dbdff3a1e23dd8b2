"""Operators publish at the page like any client: all access rules and limits apply."""

from pathlib import Path
from typing import Any

import pytest

from gateway.broker.access.passwords.file import set_password
from gateway.broker.server.control import publishing
from tests.broker.server.control.test_operating import BEN, PAGE, ask, written
from tests.broker.server.reloading_broker import ReloadingBroker, reloading_broker
from tests.peers.mqtt_bytes import Kind, packet, string

PROGRAM = BEN | {"by": "nightly", "program": True}


async def done(directory: Path, command: str, **arguments: Any) -> Any:
    answer = await ask(directory, **{"command": command, **BEN, **arguments})
    assert answer["ok"], answer
    return answer["result"]


async def refused(directory: Path, command: str, **arguments: Any) -> tuple[str, str]:
    answer = await ask(directory, **{"command": command, **BEN, **arguments})
    assert not answer["ok"]
    return answer["error"]["code"], answer["error"]["message"]


def retained_in(broker: ReloadingBroker) -> dict[str, bytes]:
    retained = broker.running.event_loop.broker.state.retained
    return {topic: message.payload for topic, message in retained.items()}


async def test_a_message_reaches_subscribers_and_is_retained_until_it_is_cleared(
    tmp_path: Path,
) -> None:
    async with reloading_broker(tmp_path, **written(tmp_path, **PAGE)) as broker:
        unheard = {"published": True, "matched": False, "receivers": 0, "denied": 0}
        for qos in (1, 2):
            assert await done(tmp_path, "publish", topic="lamp", payload="on", qos=qos) == unheard
        client = await broker.client(broker.shown[0]["port"], "reader")
        client.send(packet(Kind.SUBSCRIBE, 2, b"\0\1\0" + string("lamp") + b"\0"))
        await client.packet()
        found = await done(tmp_path, "publish", topic="lamp", payload="on", qos=2, retain=True)
        assert (found["matched"], found["receivers"]) == (True, 1)
        assert (await client.packet()).endswith(b"lamp\x00on")
        assert retained_in(broker) == {"lamp": b"on"}
        (message,) = broker.running.event_loop.broker.state.retained.values()
        assert message.source is not None
        assert (message.source.username, message.source.listener) == ("ben", "@page")
        assert await done(tmp_path, "clear_retained", topic="lamp") == {"cleared": True}
        assert (await client.packet()).endswith(b"lamp\x00"), "subscribers see it"
        assert retained_in(broker) == {}
        assert (await refused(tmp_path, "clear_retained", topic="lamp"))[0] == "not_found"
        sessions = broker.running.event_loop.broker.state.sessions
        assert list(sessions) == ["reader"], "nothing of the page stays"
        assert broker.running.control.operating.counted["publish"] == 3


async def test_it_is_written_down_with_who_did_it_and_without_the_payload(tmp_path: Path) -> None:
    async with reloading_broker(tmp_path, **written(tmp_path, **PAGE)) as broker:
        await done(tmp_path, "publish", topic="lamp", payload="secret °", retain=True)
        await done(tmp_path, "publish", topic="next", payload="its batch", retain=True)
        listed = broker.running.control._commands["events"]
        events = (await listed({"limit": 100}))["events"]  # type: ignore[misc]
        operated = [each for each in events if each["event"] == "operated"][-1]
        assert operated["action"] == "publish"
        assert "'ben' ('operator') from '192.0.2.7'" in operated["detail"]
        assert "'payload_bytes'=9" in operated["detail"]
        assert "secret" not in operated["detail"]
        published = [each for each in events if each["event"] == "message_published"][-1]
        assert published["client_id"].startswith("page-")
        opened = [each for each in events if each["event"] == "session_opened"][-1]
        assert opened["address"] == "page:192.0.2.7"


async def test_access_rules_apply_by_user_and_by_the_page_as_a_listener(tmp_path: Path) -> None:
    rules = tmp_path / "rules"
    rules.write_text(
        "allow listener @page publish plant/#\nallow user ben publish,subscribe own/#\n"
    )
    keys = written(tmp_path, **PAGE, tokens_file=tmp_path / "tokens")
    async with reloading_broker(tmp_path, **keys, access__rules_file=rules) as broker:
        for topic in ("plant/lamp", "own/x"):
            assert (await done(tmp_path, "publish", topic=topic, payload="1"))["published"]
        code, message = await refused(tmp_path, "publish", topic="other", payload="1")
        assert (code, "`allow user ben publish other`" in message) == ("denied", True)
        assert (await done(tmp_path, "publish", topic="plant/x", **PROGRAM))["published"]
        code, message = await refused(tmp_path, "publish", topic="own/x", **PROGRAM)
        assert (code, "`allow listener @page publish own/x`" in message) == ("denied", True)
        # By default, everything except commands and readings may be published.
        broker.written |= {
            "listeners": [{"port": 0, "anonymous": False, "bind": "0.0.0.0"}],  # noqa: S104
        }
        broker.reload(access__rules_file=None)
        assert (await done(tmp_path, "publish", topic="house/x/y", **PROGRAM))["published"]
        for topic in ("commands/board/reset", "sensors/x/y"):
            assert (await refused(tmp_path, "publish", topic=topic))[0] == "denied"


async def test_bans_limits_and_removed_users_apply(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = written(tmp_path, **PAGE) | {"mqtt__max_retained": 1, "mqtt__max_topic_levels": 3}
    async with reloading_broker(tmp_path, **keys) as broker:
        lamp = {"topic": "lamp", "payload": "on", "retain": True}
        await done(tmp_path, "publish", **lamp)
        code, message = await refused(tmp_path, "publish", **lamp | {"topic": "other"})
        assert (code, "limit" in message) == ("refused", True)
        assert (await refused(tmp_path, "publish", topic="a/b/c/d"))[0] == "refused"
        await done(tmp_path, "ban", kind="user", value="ben")
        assert (await refused(tmp_path, "publish", **lamp))[0] == "refused"
        await done(tmp_path, "lift_ban", kind="user", value="ben")
        monkeypatch.setattr(publishing, "PUBLISHING_MAX", 0)
        assert (await refused(tmp_path, "publish", **lamp))[0] == "busy"
        monkeypatch.undo()
        set_password(tmp_path / "passwords", "anna", b"secret", scram_iterations=4_096)
        (tmp_path / "passwords").write_text(
            "".join(
                line
                for line in (tmp_path / "passwords").read_text().splitlines(keepends=True)
                if not line.startswith("ben:")
            )
        )
        broker.reload()
        code, message = await refused(tmp_path, "publish", **lamp)
        assert (code, "removed" in message) == ("denied", True)


async def test_what_cannot_be_published_is_refused(tmp_path: Path) -> None:
    given: tuple[dict[str, Any], ...] = (
        {},
        {"topic": ""},
        {"topic": "a/#"},
        {"topic": "$SYS/x"},
        {"topic": "x" * 1_025},
        {"topic": "a\0b"},
        {"topic": "a", "qos": 0},
        {"topic": "a", "qos": True},
        {"topic": "a", "retain": "yes"},
        {"topic": "a", "retain": True},
        {"topic": "a", "payload": 7},
        {"topic": "a", "payload": "\ud800"},
        {"topic": "\ud800"},
        {"topic": "a", "payload": "x" * 8_193},
    )
    async with reloading_broker(tmp_path, **written(tmp_path, **PAGE)) as broker:
        for each in given:
            assert (await refused(tmp_path, "publish", **each))[0] == "bad_request", each
        broker.running.event_loop.broker.limits.disk_full = True
        code, message = await refused(tmp_path, "publish", topic="a", payload="1", retain=True)
        assert (code, "disk" in message) == ("refused", True)
