"""Topics in the form in which the broker lists them."""

import json

from tests.api.recorded import NOW_MS, Json

DESCRIPTION = "homeassistant/device/gw-5f3a91c2-board-0000002a-4d4ad150/config"
AVAILABILITY = "gateway/gw-5f3a91c2/availability"


def topic(name: str, retained: Json | None = None, latest: Json | None = None) -> Json:
    return {"topic": name, "retained": retained, "latest": latest}


def topic_message(text: str | None, **bent: object) -> Json:
    return {
        "text": text,
        "hex": None if text is not None else "ff00",
        "bytes": 2 if text is None else len(text.encode()),
        "qos": 1,
        "client_id": "phone",
        "time_ms": NOW_MS - 60_000,
        **bent,
    }


def topics() -> list[Json]:
    on, binary = topic_message("on", time_ms=None), topic_message(None)
    return [
        topic("house/light", on, topic_message("off")),
        topic("house/light/set", None, binary),
        topic("house/very/deep/in/the/cellar/behind/the/door", None, topic_message("")),
        topic("sensors/board-0000002a/temperature", topic_message("21.5", client_id=None)),
    ]


def description() -> Json:
    """Return the description of a device, as the bridge publishes it for Home Assistant."""
    return {
        "dev": {"ids": ["gw-5f3a91c2/board-0000002a"], "name": "board-0000002a"},
        "o": {"name": "Oncegate", "sw": "0.1.0"},
        "cmps": {
            "temperature": {
                "p": "sensor",
                "name": "Temperature",
                "uniq_id": "gw-5f3a91c2/board-0000002a/temperature",
                "stat_t": "sensors/board-0000002a/temperature",
                "val_tpl": "{{ value }}",
                "dev_cla": "temperature",
                "unit_of_meas": "\N{DEGREE SIGN}C",
                "stat_cla": "measurement",
            },
            "old": {"p": "sensor"},
        },
        "avty": [{"t": AVAILABILITY}, {"t": f"{AVAILABILITY}/greenhouse"}],
        "avty_mode": "all",
    }


def discovery(**bent: object) -> Json:
    """Return the bridge's report about its descriptions for Home Assistant."""
    home_assistant = {"status": "online", "status_ms": NOW_MS - 3_600_000}
    connection = {"connected": True, "fault": None}
    owner = {"prefix": "homeassistant", "gateway": "gw-5f3a91c2"}
    return {**owner, **connection, **home_assistant, **bent}


def topic_state(text: str | None, *, clients: tuple[str, ...] = ("home",), denied: int = 0) -> Json:
    return {
        "is_retained": text is not None,
        "text": text,
        "receivers": len(clients),
        "denied": denied,
        "clients": [*clients],
    }


def topic_states() -> dict[str, Json]:
    """Return the states of the topics that describe `board-0000002a`, by topic."""
    return {
        DESCRIPTION: topic_state(json.dumps(description())),
        AVAILABILITY: topic_state("online"),
        f"{AVAILABILITY}/greenhouse": topic_state("online"),
    }
