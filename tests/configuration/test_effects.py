"""The moment at which a changed key takes effect: declared, documented, and applied by a reload."""

import copy
import re
from pathlib import Path
from typing import Any

import pytest
from firmware_bridge.protocols.table import PROTOCOLS

from gateway.configuration import Configuration, load
from gateway.configuration.effects import (
    EFFECTS,
    LISTS_AS_ONE,
    PROCESSES,
    Effect,
    changes_between,
    in_force,
)
from gateway.configuration.problems import section_at
from gateway.process.declarations.section import keys_of

PAGE = Path(__file__).resolve().parents[2] / "docs" / "configuration.md"
ROW = re.compile(r"\| (?P<effect>[^|`]+?) \| (?P<keys>.*?) \|")


def configured(**overrides: object) -> Configuration:
    written = {name.replace("__", "."): value for name, value in overrides.items()}
    return load(None, {}, written, PROTOCOLS)


def test_every_key_has_an_effect() -> None:
    declared = {section: set(keys) for section, keys in EFFECTS.items()}
    assert declared == {name: set(keys_of(section_at(name))) for name in keys_of(Configuration)}
    assert "serial" in LISTS_AS_ONE, "keys of its protocols are named as `serial`"
    assert {*PROCESSES} >= {
        section for section, keys in EFFECTS.items() if Effect.PROCESS in keys.values()
    }


def test_the_table_in_the_page_is_the_declaration() -> None:
    text = PAGE.read_text().partition("## What a reload changes")[2].partition("\n## ")[0]
    documented: dict[str, set[str]] = {}
    for row in ROW.finditer(text):
        names = set(re.findall(r"`([a-z0-9_.]+)`", row["keys"]))
        documented[row["effect"]] = documented.get(row["effect"], set()) | names
    declared: dict[str, set[str]] = {}
    for section, keys in EFFECTS.items():
        is_all_the_same = len({*keys.values()}) == 1
        for key, effect in keys.items():
            name = section if is_all_the_same else f"{section}.{key}"
            declared.setdefault(str(effect), set()).add(name)
    assert {effect: names for effect, names in documented.items() if effect in declared} == declared


@pytest.mark.parametrize(
    ("change", "effect"),
    [
        ({"mqtt__max_inflight": 5}, Effect.NOW),
        ({"queues": [{"client": "a", "when_full": "refuse"}]}, Effect.NOW),
        ({"mqtt__max_packet_size": "1MiB"}, Effect.NEW_CONNECTIONS),
        ({"access__order": ["mysql", "jwt", "password_file"]}, Effect.ENDS_CONNECTIONS),
        ({"bridge__window": 5}, Effect.PROCESS),
        ({"alarms__topic": "problems"}, Effect.BRIDGE),
        ({"serial": [{"name": "a", "path": "/dev/a"}]}, Effect.BRIDGE),
        ({"gateway__id": "other"}, Effect.RESTART),
    ],
)
def test_what_becomes_of_a_change(change: dict[str, Any], effect: Effect) -> None:
    before, after = configured(), configured(**change)
    (key,) = change
    name = key.replace("__", ".")
    changes = changes_between(before, after)
    is_taken = effect not in (Effect.PROCESS, Effect.RESTART)
    assert changes.taken == ((name,) if is_taken else ())
    assert changes.new_connections == ((name,) if effect is Effect.NEW_CONNECTIONS else ())
    assert changes.processes == ({"bridge": (name,)} if effect is Effect.PROCESS else {})
    assert changes.needs_restart == ((name,) if effect is Effect.RESTART else ())
    assert changes_between(after, after) == changes_between(before, before)


class Other:
    """A value that no key has. The answer of a reload does not depend on the value."""

    def __repr__(self) -> str:
        return "other"


def with_other(configuration: Configuration, section: str, key: str) -> Configuration:
    """Return a copy of the configuration with another value for one key."""
    changed = copy.copy(configuration)
    part = getattr(configuration, section)
    first = copy.copy(part[0] if isinstance(part, tuple) else part)
    object.__setattr__(first, key, Other())
    whole = (first, *part[1:]) if isinstance(part, tuple) else first
    object.__setattr__(changed, section, whole)
    return changed


@pytest.mark.parametrize(
    ("section", "key"),
    [(section, key) for section, keys in EFFECTS.items() for key in keys],
)
def test_each_key_is_in_force_after_a_reload_or_its_answer_names_who_waits_for_what(
    section: str, key: str
) -> None:
    """One key in one section is changed, for every key that a file can have."""
    before = configured(
        listeners=[{"port": 1884}],
        queues=[{"client": "a", "when_full": "refuse"}],
        user_quotas=[{"user": "ann"}],
        serial=[{"name": "a", "path": "/dev/a"}],
    )
    after = with_other(before, section, key)
    answer = changes_between(before, after)
    effect = EFFECTS[section][key]
    is_moved = section == "listeners" and key in ("bind", "port", "path")
    name = section if section in LISTS_AS_ONE or is_moved else f"{section}.{key}"
    is_taken = effect not in (Effect.PROCESS, Effect.RESTART)
    assert answer.taken == ((name,) if is_taken else ())
    assert answer.needs_restart == ((name,) if effect is Effect.RESTART else ())
    process = PROCESSES.get(f"{section}.{key}", PROCESSES.get(section))
    if process is not None and effect is not Effect.BRIDGE:
        assert answer.processes == {process: (name,)}
    else:
        assert answer.processes == {}
    assert set(answer.new_connections) <= {name}
    holds = in_force(before, after)
    part = getattr(holds, section)
    value = getattr(part[0] if isinstance(part, tuple) else part, key)
    assert isinstance(value, Other) is (effect is not Effect.RESTART)


def test_a_key_of_broker_and_uploader_is_taken_by_both() -> None:
    changes = changes_between(configured(), configured(session_log__payload_topics=["a/#"]))
    assert changes.taken == ("session_log.payload_topics",)
    assert changes.processes == {"upload": ("session_log.payload_topics",)}


def test_what_waits_for_a_restart_keeps_waiting_and_the_rest_holds(tmp_path: Path) -> None:
    before = configured(mqtt__max_inflight=3)
    wanted = configured(gateway__data_dir=tmp_path, hooks__module="mine", mqtt__max_inflight=5)
    holds = in_force(before, wanted)
    assert (holds.gateway, holds.hooks) == (before.gateway, before.hooks)
    assert holds.mqtt.max_inflight == 5
    again = changes_between(holds, wanted)
    assert again.taken == ()
    assert again.needs_restart == ("gateway.data_dir", "hooks.module")


def test_listeners_are_compared_at_their_addresses() -> None:
    one, two = {"port": 1884}, {"port": 1885}
    before = configured(listeners=[one, two])
    moved = changes_between(before, configured(listeners=[two, one]))
    assert moved.taken == (), "their order does not matter"
    other = configured(listeners=[one | {"max_packet_rate": 5}, {"port": 1886}])
    changes = changes_between(before, other)
    assert changes.taken == ("listeners", "listeners.max_packet_rate")
    assert changes.new_connections == ("listeners.max_packet_rate",)
