"""The configuration in force: where each value was set, without secrets."""

import asyncio
import json
from pathlib import Path
from typing import Any

from firmware_bridge.protocols.table import PROTOCOLS

from gateway.broker.server.status.configuration import (
    KEYS_MAX,
    VALUE_CHARACTERS_MAX,
    shown_configuration,
)
from gateway.configuration import load
from gateway.configuration.description import MASK
from tests.broker.server.reloading_broker import reloading_broker

FILE = """
[mqtt]
max_inflight = 7
[bridge]
username = "bridge-user"


[uplink]
address = "broker.example:8883"
username = "uplink-user"
[[uplink.topics]]
filter = "#"
direction = "out"
[upload]
target = "s3://key:secret@host/bucket"
[[serial]]
name = "gps"
path = "/dev/x"
framing = "nmea"
"""


def keys_in(shown: dict[str, Any]) -> dict[tuple[str, str], tuple[str, str | None]]:
    """Return value and source of each key."""
    return {
        (each["section"], each["key"]): (each["value"], each["source"]) for each in shown["keys"]
    }


def test_each_key_has_its_value_and_where_it_was_set(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(FILE)
    (tmp_path / "conf.d").mkdir()
    added = tmp_path / "conf.d" / "dust.toml"
    added.write_text('[[serial]]\nname = "dust"\npath = "/dev/y"\nframing = "json"\n')
    environment = {"ONCEGATE_MQTT_MAX_SESSIONS": "9"}
    read = load(file, environment, {"api.port": 81}, PROTOCOLS)
    shown = shown_configuration(read, ("gateway.id",))
    assert (shown["file"], shown["needs_restart"]) == (str(file), ["gateway.id"])
    keys = keys_in(shown)
    assert keys["[mqtt]", "max_inflight"] == ("7", str(file))
    assert keys["[mqtt]", "max_sessions"] == ("9", "ONCEGATE_MQTT_MAX_SESSIONS")
    assert keys["[mqtt]", "max_retained"] == ("100000", None)
    assert keys["[api]", "port"] == ("81", "the command line")
    assert keys["[[serial]] 1", "name"] == ('"gps"', str(file))
    assert keys["[[serial]] 2", "name"] == ('"dust"', str(added))
    assert keys["[[serial]] 2", "silent_after"] == ('"600s"', None)
    processes = {each["section"]: each["process"] for each in shown["keys"]}
    assert (processes["[mqtt]"], processes["[[serial]] 1"]) == ("broker", "bridge")
    by_key = {(each["section"], each["key"]): each["process"] for each in shown["keys"]}
    assert by_key["[alarms]", "topic"] == "bridge"
    assert by_key["[alarms]", "disk_free"] == "api"


def test_names_of_users_and_urls_with_credentials_are_not_shown(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(FILE)
    shown = shown_configuration(load(file, {}, {}, PROTOCOLS), ())
    keys = keys_in(shown)
    assert keys["[bridge]", "username"] == (f'"{MASK}"', str(file))
    assert keys["[upload]", "target"] == (f'"{MASK}"', str(file))
    assert "secret" not in json.dumps(shown)
    assert "bridge-user" not in json.dumps(shown)


def test_long_values_and_many_ports_are_bounded(tmp_path: Path) -> None:
    topics = [f"topic/{number}" for number in range(1_000)]
    ports = [{"name": f"p{n}", "path": f"/dev/x{n}", "framing": "json"} for n in range(250)]
    overrides = {"session_log.payload_topics": topics, "serial": ports}
    shown = shown_configuration(load(None, {}, overrides, PROTOCOLS), ())
    assert len(shown["keys"]) == KEYS_MAX
    assert shown["not_listed"] > 0
    assert max(len(each["value"]) for each in shown["keys"]) <= VALUE_CHARACTERS_MAX
    assert shown["file"] is None


async def test_viewers_ask_for_it_and_a_reload_changes_it(tmp_path: Path) -> None:
    async with reloading_broker(tmp_path, listeners=[{"port": 0}]) as broker:
        broker.reload(mqtt__max_inflight=5)
        reader, writer = await asyncio.open_unix_connection(tmp_path / "data" / "status.sock")
        writer.write(b'{"command": "configuration"}\n')
        answer = json.loads(await reader.readline())
        writer.close()
        assert keys_in(answer["result"])["[mqtt]", "max_inflight"][0] == "5"
