"""Sections are built from the written values, and a protocol adds its own keys."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

import pytest
from firmware_bridge.protocols.table import PROTOCOLS
from jsonschema import Draft202012Validator

from gateway.configuration import ConfigurationError, load
from gateway.configuration.checking import configuration_of
from gateway.configuration.description import keys, tables
from gateway.configuration.schema import schema
from gateway.configuration.sections import Mqtt
from gateway.process.declarations.protocol import Protocols, ProtocolSettings
from gateway.process.declarations.quantities import Whole
from tests.bridge.meters import Meter, Meters


@dataclass(frozen=True, kw_only=True)
class Registers(ProtocolSettings):
    """A protocol that has a key of another protocol with a different type."""

    descriptions: ClassVar = {"meters": "How many there are."}

    meters: Annotated[int, Whole(1, 9)] = 1


WITH_METERS: Protocols = {**PROTOCOLS, "meters": Meters, "registers": Registers}
PORT = "[[serial]]\nname = 'a'\npath = 'x'\n"
TWO = "meters = [{address = 1, name = 'north'}, {address = 2, name = 'south'}]"


def loaded(tmp_path: Path, content: str) -> Any:
    file = tmp_path / "gateway.toml"
    file.write_text(PORT + content)
    return load(file, {}, {}, WITH_METERS)


def test_its_keys_are_read_with_their_units_tables_and_defaults(tmp_path: Path) -> None:
    configuration = loaded(tmp_path, f"framing = 'meters'\npoll_interval = '500ms'\n{TWO}")
    (port,) = configuration.serial
    assert port.protocol == Meters(
        meters=(Meter(address=1, name="north"), Meter(address=2, name="south")),
        poll_interval=0.5,
    )
    assert port.protocol.given == {"meters", "poll_interval"}
    shown = tables(configuration)["serial"][0]
    assert shown["meters"][1] == {"address": 2, "name": "south"}
    assert (shown["poll_interval"], shown["answer_timeout"]) == ("500ms", "1s")
    is_set = {key.name: key.is_set for key in keys(configuration) if "serial" in key.name}
    assert is_set["[[serial]] 1 poll_interval"]
    assert not is_set["[[serial]] 1 answer_timeout"]


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (
            "framing = 'meters'",
            '[[serial]] (1st): use meters with framing = "meters": The meters of the line.',
        ),
        (
            "framing = 'meters'\nmeters = [{address = 100, name = 'a'}]",
            (
                "[[serial]] (1st) meters.0.address = 100 is not allowed: "
                "use a whole number from 1 to 99"
            ),
        ),
        (
            "framing = 'meters'\nmeters = [{addres = 1, address = 1, name = 'a'}]",
            (
                "[[serial]] (1st) meters.0.addres is not a key of this version: "
                'did you mean "address"?'
            ),
        ),
        (
            "framing = 'meters'\nmeters = [{address = 1}]",
            "[[serial]] (1st) meters.0.name is missing: every such table needs it",
        ),
        (
            "framing = 'meters'\nmeters = [{address = 1, name = 'board-7'}]",
            (
                '[[serial]] (1st): use another device: names that begin with "board-" belong to '
                'framing = "board"'
            ),
        ),
        (
            f"framing = 'json'\n{TWO}",
            '[[serial]] (1st): use meters with framing = "mbus" or "meters" or "registers" only',
        ),
    ],
)
def test_a_mistake_in_its_keys_is_one_line_with_the_fix(
    tmp_path: Path, content: str, line: str
) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        loaded(tmp_path, content)
    assert refusal.value.problems == (f"{tmp_path / 'gateway.toml'}: {line}",)


@pytest.mark.parametrize(
    ("content", "accepted"),
    [
        (f"framing = 'meters'\n{TWO}", True),
        ("framing = 'meters'\nmeters = []", False),
        ("framing = 'meters'", False),
        ("framing = 'registers'\nmeters = 3", True),
        ("framing = 'json'\nmeters = 3", False),
        ("meters = 3", False),
        ("framing = 'meters'\nmeters = [{address = 1, name = 'a', x = 1}]", False),
        ("framing = 'meter'", False),
        ("", True),
    ],
)
def test_the_schema_accepts_its_keys_and_only_with_it(content: str, accepted: bool) -> None:
    made = schema(WITH_METERS)
    Draft202012Validator.check_schema(made)
    assert Draft202012Validator(made).is_valid(tomllib.loads(PORT + content)) is accepted


def test_all_mistakes_of_a_port_and_its_protocol_are_reported_together(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        loaded(tmp_path, f"framing = 'meters'\nbaud_rate = 1\npoll_interval = 3\n{TWO}")
    assert len(refusal.value.problems) == 2


def test_what_was_given_is_known_of_every_section() -> None:
    configuration = configuration_of(
        {"mqtt": {"max_inflight": 32}, "listeners": [{"port": 1}]}, lambda location: "here"
    )
    assert configuration.given == {"mqtt", "listeners"}
    assert configuration.mqtt.given == {"max_inflight"}
    assert configuration.listeners[0].given == {"port"}
    assert configuration.api.given == frozenset()
    assert configuration.mqtt == Mqtt(), "a default that was given is the same value"


def test_a_mistake_names_the_source_of_its_place() -> None:
    with pytest.raises(ConfigurationError) as refusal:
        configuration_of(
            {"mqtt": {"max_inflight": -1}, "api": {"port": -1}}, lambda location: str(location[0])
        )
    assert [line.split(":")[0] for line in refusal.value.problems] == ["mqtt", "api"]
