"""Topics in the form in which the broker lists them."""

from tests.api.recorded import NOW_MS, Json


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
