"""The file `bridge.discovery.json`, a record of retained device descriptions for Home Assistant.

The record contains the topics of the descriptions, and the described devices. The file is written
before a description is published, and after the broker has acknowledged a removal. The bridge can
therefore remove a description even if a port, the topic prefix or the gateway's name is no longer
configured.
"""

import json
import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from firmware_bridge.readings.kinds import KINDS
from firmware_bridge.readings.names import is_name
from firmware_bridge.readings.seen import (
    DEVICES_DESCRIBED_MAX,
    FACT_CHARACTERS_MAX,
    QUANTITIES_DESCRIBED_MAX,
    SeenDevice,
    SeenValue,
    is_fact,
)
from gateway.process.files.disk_errors import line_of
from gateway.process.files.durable import replace_durably

logger = logging.getLogger(__name__)

FILE_NAME: Final = "bridge.discovery.json"
TOPICS_MAX: Final = 1024
"""Maximum number of topics in the file, including those that the bridge must still remove."""
_VERSION: Final = 1
# A file that reaches all limits above, with the longest names, is smaller than this.
_BYTES_MAX: Final = 16 * 1024 * 1024
_TOPIC_CHARACTERS_MAX: Final = 512


@dataclass
class Remembered:
    """The devices that were described to Home Assistant, and the topics of their descriptions."""

    topics: set[str] = field(default_factory=set)
    devices: dict[str, SeenDevice] = field(default_factory=dict)


def load(path: Path) -> Remembered:
    """Load the record. If the file is missing or damaged, return an empty record.

    If the file is damaged, a warning is logged.
    """
    try:
        with path.open("rb") as file:
            found = json.loads(file.read(_BYTES_MAX))
        return _remembered_of(found)
    except FileNotFoundError:
        return Remembered()
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        logger.warning(
            "%s cannot be used (%.120s): devices appear in Home Assistant again when they send; "
            "remove the topics of devices that no longer exist from the broker by hand",
            path,
            f"{type(error).__name__}: {line_of(error)}",
        )
        return Remembered()


def contents_of(remembered: Remembered) -> bytes:
    """Return the record as JSON, to be written to its file."""
    body = {
        "version": _VERSION,
        "topics": sorted(remembered.topics),
        "devices": {
            name: {
                "port": device.port,
                "facts": device.facts,
                "values": {
                    value_name: asdict(value) for value_name, value in device.values.items()
                },
            }
            for name, device in remembered.devices.items()
        },
    }
    return json.dumps(body, separators=(",", ":")).encode()


def write(path: Path, contents: bytes) -> None:
    """Write the contents to the file durably. Raises OSError if this fails."""
    replace_durably(path, contents, partial=path.with_name(f"{path.name}.new"))


def _remembered_of(found: Any) -> Remembered:
    if found["version"] != _VERSION:
        raise ValueError(f"version {found['version']!r:.20} is not {_VERSION}")
    topics = {each for each in found["topics"] if _is_topic(each)}
    if len(topics) != len(found["topics"]) or len(topics) > TOPICS_MAX:
        raise ValueError("topics")
    if len(found["devices"]) > DEVICES_DESCRIBED_MAX:
        raise ValueError("too many devices")
    devices = {
        name: _device_of(device) for name, device in found["devices"].items() if is_name(name)
    }
    return Remembered(topics, devices)


def _is_topic(text: object) -> bool:
    """Return True if `text` is a topic that the bridge uses for descriptions.

    The bridge never removes retained messages from other topics.
    """
    return (
        isinstance(text, str)
        and len(text) <= _TOPIC_CHARACTERS_MAX
        and "/device/" in text
        and text.endswith("/config")
        and not any(each in text for each in "+#\0")
    )


def _device_of(found: Mapping[str, Any]) -> SeenDevice:
    values = {name: SeenValue(**value) for name, value in found["values"].items()}
    if len(values) > QUANTITIES_DESCRIBED_MAX:
        raise ValueError("too many values")
    for name, value in values.items():
        names = [*name.split("/", 1), *value.quantity.split("/", 1)]
        if value.kind not in KINDS or not all(is_name(each) for each in names):
            raise ValueError(f"value {name!r:.80}")
        if value.unit is not None and not isinstance(value.unit, str):
            raise ValueError(f"unit of {name!r:.80}")
        if not isinstance(value.is_gone, bool):
            raise ValueError(f"is_gone of {name!r:.80}")
    if not isinstance(found["port"], str):
        raise ValueError("port")
    facts = found["facts"]
    if len(facts) > QUANTITIES_DESCRIBED_MAX or not all(
        is_fact(name) and isinstance(text, str) and len(text) <= FACT_CHARACTERS_MAX
        for name, text in facts.items()
    ):
        raise ValueError("facts")
    return SeenDevice(found["port"], values, dict(facts))
