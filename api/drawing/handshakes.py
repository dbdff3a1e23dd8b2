"""Sequence diagram of a client's handshakes, derived from the events of the session log.

Each step is a packet in one direction, or an event at the gateway. If a step is marked as durable,
its event was synced to disk before the next packet in the opposite direction was sent.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from api.drawing.event_lines import BANDS, LOSSES, line_of, title_of
from api.models.events import Event
from api.wording import counted_of

Direction = Literal["in", "out", "here"]
"""Direction of a step: from the client, to the client, or at the gateway."""


@dataclass(frozen=True)
class Step:
    """One row of the sequence diagram. `name` is a topic and therefore untrusted text."""

    time_ms: int
    direction: Direction
    text: str
    name: str = ""
    note: str = ""
    is_durable: bool = False
    is_band: bool = False
    is_loss: bool = False


def steps_of(events: Iterable[Event]) -> list[Step]:
    """Return the steps of a sequence diagram for the events of one client.

    `events` must be sorted by sequence number. The last event of a delivery does not contain the
    QoS. The QoS is therefore remembered from an earlier event with the same message number.
    """
    qos_of: dict[int, int] = {}
    return [step for event in events for step in _steps_of(event, qos_of)]


def _steps_of(event: Event, qos_of: dict[int, int]) -> list[Step]:
    name = event.event
    if name.startswith("delivery_"):
        return _delivered(event, qos_of)
    packet, topic = event.text("packet_id"), event.text("topic")
    match name:
        case "message_held":
            return [
                _step(event, "in", f"PUBLISH {packet}, QoS 2", name=topic, is_durable=True),
                _step(event, "out", f"PUBREC {packet}"),
            ]
        case "duplicate_suppressed":
            note = "Stored already: not published again."
            return [
                _step(event, "in", f"PUBLISH {packet} again, QoS 2", name=topic, note=note),
                _step(event, "out", f"PUBREC {packet}"),
            ]
        case "message_released":
            note = f"Published to {counted_of(event.number('matched') or 0, 'session')}."
            return [
                _step(event, "in", f"PUBREL {packet}", note=note, is_durable=True),
                _step(event, "out", f"PUBCOMP {packet}"),
            ]
        case "message_published" if event.text("origin") == "client":
            return _published(event, topic)
    return [
        _step(
            event,
            "here",
            title_of(name),
            name=topic,
            note=line_of(event).facts,
            is_band=name in BANDS,
            is_durable=name not in BANDS,
        )
    ]


def _published(event: Event, topic: str) -> list[Step]:
    """Return the steps of a publication that the session log records as a single event.

    If a publisher uses QoS 2 and a clean session, the gateway logs the message only when PUBREL
    arrives. All four steps are derived from this event, which has no packet identifier.
    """
    qos = event.number("qos") or 0
    if qos == 2:
        return [
            _step(event, "in", "PUBLISH, QoS 2", name=topic, note="Held in memory until PUBREL."),
            _step(event, "out", "PUBREC"),
            _step(event, "in", "PUBREL", is_durable=True),
            _step(event, "out", "PUBCOMP"),
        ]
    came = _step(event, "in", f"PUBLISH, QoS {qos}", name=topic, is_durable=qos > 0)
    return [came, _step(event, "out", "PUBACK")] if qos else [came]


def _delivered(event: Event, qos_of: dict[int, int]) -> list[Step]:
    packet, topic = event.text("packet_id"), event.text("topic")
    message = event.number("message") or 0
    match event.event:
        case "delivery_started":
            qos = qos_of[message] = event.number("qos") or 0
            return [_step(event, "out", f"PUBLISH {packet}, QoS {qos}", name=topic)]
        case "delivery_resent":
            again = event.text("packet").upper() or "PUBLISH"
            return [_step(event, "out", f"{again} {packet} again", name=topic)]
        case "delivery_received":
            qos_of[message] = 2
            return [
                _step(event, "in", f"PUBREC {packet}", is_durable=True),
                _step(event, "out", f"PUBREL {packet}"),
            ]
    qos = qos_of.pop(message, 0)
    if event.number("packet_id") == 0:
        return [_step(event, "out", "PUBLISH, QoS 0", name=topic, note="From the queue.")]
    text = {1: "PUBACK", 2: "PUBCOMP"}.get(qos, "PUBACK or PUBCOMP")
    return [_step(event, "in", f"{text} {packet}", is_durable=True)]


def _step(
    event: Event,
    direction: Direction,
    text: str,
    *,
    name: str = "",
    note: str = "",
    is_durable: bool = False,
    is_band: bool = False,
) -> Step:
    is_loss = event.event in LOSSES
    return Step(event.time, direction, text, name, note, is_durable, is_band, is_loss)
