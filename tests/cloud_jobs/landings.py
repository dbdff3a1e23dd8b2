"""Segments for the tests of the ingestion: one gateway for each fault or special case.

All of them land together, because a run costs seconds and a segment almost nothing. Gateways must
not affect each other, which these tests prove as well.
"""

from __future__ import annotations

import json
from pathlib import Path

from tests.contract.segments import (
    Event,
    LogWriter,
    Segment,
    closed,
    held,
    numbered,
    opened,
    payload_of,
    published,
    readings,
    released,
    sealed,
)

GOLDEN = Path(__file__).parent.parent / "contract" / "golden"
FLOOD_LINES, FLOOD_PAYLOADS = 5_000, 1_500
ODD_NAMES = ("[x", "{", "*", "?", "\\", "a b", "%zz", "ü")

BASED: list[dict[str, object]] = [
    {"bn": "urn:dev:1:", "bt": 1763715100.0, "bu": "A", "n": "current", "v": 1.25},
    {"n": "voltage", "u": "V", "t": 5, "v": 230},
    {"n": "state", "vs": "on"},
    {"n": "door", "vb": False},
    {"n": "picture", "vd": "aGk"},
    {"n": "energy", "s": 7.5},
]
NO_SENML = [
    "",
    "not json",
    "21.5",
    "[]",
    '{"n":"x","v":1}',
    "[1]",
    '[{"v":1}]',
    '[{"n":"x"}]',
    '[{"n":"x","v":"21.5"}]',
    '[{"n":"x","v":1,"vb":true}]',
    '[{"n":"x","v":1e400}]',
    '[{"n":"x","t":1e300,"v":1}]',
    '[{"n":"x","v":1}] trailing',
    '[{"n":"x","v":1}],[{"n":"y","v":2}]',
    '[{"n":"x","v":1}]},{"a":[1]',
    '[{"n":"x","v":NaN}]',
    '[{"n":"x","n":"y","v":1}]',
    '[{"n":"x","v":1,"device":"d","boot":"3","sequence":1}]',
    "[" * 5000,
]


def land(directory: Path, *segments: Segment) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    for segment in segments:
        segment.write_to(directory)


def _store(gateway: str) -> str:
    return gateway.encode().hex()[:16].ljust(16, "0")


def log_of(gateway: str) -> LogWriter:
    return LogWriter(gateway=gateway, store=_store(gateway))


def land_damaged(landing: Path) -> list[Segment]:
    """Land gateway `damaged` with ten faults. Return the segments that heal them."""
    log = log_of("damaged")
    for number in range(8):
        log.seal([opened()] if number == 0 else readings(5, first=5 * number))
    whole = log.segments
    land(landing, whole[0], whole[1], whole[3])
    cut, flipped = whole[2], bytearray(whole[4].content)
    (landing / cut.name).write_bytes(cut.content[: len(cut.content) // 2])
    flipped[len(flipped) // 2] ^= 0x10
    (landing / whole[4].name).write_bytes(flipped)
    # Duplicates: under another name, and in another directory. Renamed: another gateway's name.
    (landing / "copy.jsonl.zst").write_bytes(whole[1].content)
    land(landing / "again", whole[3])
    (landing / whole[5].name.replace("damaged", "renamed")).write_bytes(whole[5].content)
    # Missing: whole[6]. Overlapping: the first four events of the last one.
    first = 1 + 10 * 6 + 1
    half = numbered(readings(5, first=35)[:4], first, log.time_ms - 100)
    overlapping = sealed(half, first_sequence=first, segment=8, gateway="damaged", store=log.store)
    land(landing, whole[7], overlapping)
    malformed: list[Event | bytes] = [b'{"sequence":oops}\n', *numbered([opened(9)], 2)]
    land(landing, sealed(malformed, first_sequence=1, gateway="malformed", store="00" * 8))
    (landing / "huge.jsonl.zst").write_bytes(b"\0" * 8_200_000)
    (landing / "empty.jsonl.zst").write_bytes(b"")
    return [whole[2], whole[4], whole[5], whole[6]]


def land_halves(landing: Path) -> list[Segment]:
    """Land held and released events in two segments. Return a third, which lands later."""
    log = log_of("halves")
    log.seal([held(1, payload_of(1.0, sequence=1)), held(2, payload_of(2.0, sequence=2))])
    log.seal([released(1), held(3, payload_of(3.0, sequence=3))])
    log.seal([released(2), released(3)])
    land(landing, log.segments[2], log.segments[0])
    return [log.segments[1]]


def senml_events() -> list[Event]:
    plain: list[list[dict[str, object]]] = [
        BASED,
        [{"n": "now", "t": -2, "v": 1}],
        [{"n": "plain", "v": 1}],
        [
            {"n": "d/gga", "t": 1763715100 + k, "v": k, "device": "d", "boot": 1, "sequence": 1}
            for k in range(2)
        ],
    ]
    topics = ["sensors/a/b", "sensors/a/b", "elsewhere", "sensors/d/gga"]
    events = [
        published(k, json.dumps(value), topic=topic)
        for k, (value, topic) in enumerate(zip(plain, topics, strict=True), 1)
    ]
    events += [published(100 + k, payload) for k, payload in enumerate(NO_SENML)]
    binary = {k: v for k, v in published(200, "").items() if k != "payload"}
    events += [binary | {"payload_base64": "/w==", "payload_bytes": 1}]
    events += [binary | {"message": 201, "payload_sha256": "0" * 64}]
    return events


def land_elsewhere(landing: Path) -> list[str]:
    """Land readings in wrong topics, and some in their own. Return the wrong topics."""
    board = payload_of(1.0)
    latitude = payload_of(48.1, device="gps", name="gga/latitude", unit="lat")
    foreign = [
        "sensors/board-0000002b/temperature",
        "sensors/board-0000002a/pressure",
        "sensors/board-0000002a",
        "sensors/board-0000002a/temperature/x",
        "sensors//temperature",
        "site/board-0000002a/temperature",
    ]
    log = log_of("elsewhere")
    by_stranger = [
        {**published(k, board, topic=topic), "client_id": "stranger"}
        for k, topic in enumerate(foreign, 1)
    ]
    half = {**held(50, board, topic=foreign[0]), "client_id": "stranger"}
    own = [published(100, board), published(101, latitude, topic="sensors/gps/gga")]
    land(landing, log.seal([*by_stranger, half, released(50), *own]))
    return [*foreign, foreign[0]]


def land_repeats(landing: Path) -> list[Segment]:
    """Land a reading twice. Return a segment with it twice more, last with another value."""
    same, other = payload_of(1.0, sequence=1), payload_of(9.0, sequence=1)
    log = log_of("repeats")
    land(landing, log.seal([published(1, same), published(2, same)]))
    return [log.seal([published(3, same), published(4, other)])]


def flooded() -> list[Segment]:
    """Return a segment of thousands of malformed lines and of payloads that are not SenML."""
    events = [published(k, "no senml") for k in range(1, FLOOD_PAYLOADS + 1)]
    lines: list[Event | bytes] = [b"{}\n"] * FLOOD_LINES
    lines += numbered(events, FLOOD_LINES + 1)
    return [sealed(lines, first_sequence=1, gateway="flood", store=_store("flood"))]


def repeated_starts() -> list[Segment]:
    """Return the segment of a board that restarted its sequence numbers twice.

    The gateway's clock is in 1970. The last reading has a time of 1e12 s.
    """
    payloads = [
        payload_of(1.0 + n, boot=3 + n * 2**32, sequence=1, time=float(n)) for n in range(3)
    ]
    payloads.append(payload_of(9.0, sequence=2, time=1e12))
    events = numbered([published(k, payload) for k, payload in enumerate(payloads, 1)], 1, 0)
    store, clock = _store("boards"), "unsynchronised"
    return [sealed(events, first_sequence=1, gateway="boards", store=store, clock=clock)]


def far_ahead() -> Segment:
    """Return a segment of a gateway whose clock is at the end of the year 9999."""
    events = numbered([opened()], 1, 253_402_300_799_000 - 2 * 86_400_000)
    return sealed(events, first_sequence=1, gateway="ahead", store=_store("ahead"))


def land_contradiction(landing: Path) -> None:
    for segment, name in enumerate(("a", "b"), 1):
        events = numbered([opened(1, name), closed(1, "a")], 1)
        gateway = "contradicts"
        land(
            landing,
            sealed(
                events,
                first_sequence=1,
                segment=segment,
                gateway=gateway,
                store=_store(gateway),
            ),
        )


def land_session(landing: Path) -> list[Segment]:
    """Land the beginning and the end of a session. Return the middle, which lands last."""
    log = log_of("session")
    life = [
        [opened(), *readings(2), closed()],
        [{**opened(), "event": "session_resumed", "address": "[::1]:9"}, *readings(1, first=9)],
        [closed(reason="kicked"), {**closed(reason="expired"), "event": "session_ended"}],
    ]
    one, two, three = (log.seal(events) for events in life)
    land(landing, one, three)
    return [two]


def land_odd_names(landing: Path) -> None:
    log = log_of("odd")
    land(landing / "a[b]{c,d}*? %20=#", log.seal([opened()]))
    land(landing / "day=7", log.seal([closed()]))
    for name in ODD_NAMES:
        (landing / f"{name}.zst").write_bytes(b"nonsense " * 5)
    (landing / "half.jsonl.zst.part").write_bytes(b"")
    (landing / ".hidden.zst").write_bytes(b"")


def land_broken_chain(landing: Path) -> None:
    log = log_of("chain")
    land(landing, log.seal([opened()]))
    log.previous_sha256 = "ab" * 32
    land(landing, log.seal([closed()]))


def land_new_database(landing: Path) -> list[Segment]:
    """Land a gateway that lost its database and counts from 1 again. Return a lost segment."""
    log = log_of("rebuilt")
    land(landing, log.seal([opened(), closed()]))
    log.store, log.boot, log.sequence = "0123456789abcdef", "fedcba9876543210", 1
    land(landing, log.seal([opened()]))
    lost = log.seal([closed()])
    land(landing, log.seal([opened(2)]))
    return [lost]


def land_overlapping(landing: Path) -> list[Segment]:
    """Land deliveries that are split between segments and landings. Return the last segments.

    Gateway `twice` has the events of `once`, but they land twice, in segments with other names.
    """
    once, twice = LogWriter("once"), LogWriter("twice")

    def of_both(segment: int, *events: Event) -> list[Segment]:
        first, lines = twice.sequence, numbered(events, twice.sequence, twice.time_ms)
        again = sealed(lines, first_sequence=first, gateway="twice", segment=segment)
        return [once.seal(events), twice.seal(events), again]

    begun = held(4, payload_of(4, sequence=4))
    land(landing, *of_both(90, opened(), *readings(3), begun, released(99)))
    begun = held(5, payload_of(5, sequence=5))
    land(landing, *of_both(90, released(4), begun, published(6, "no JSON"), closed()))
    late = published(9, '[{"n":"x","v":1}]')
    return of_both(91, opened(2), released(5), *readings(2, first=7), late)


def land_golden(landing: Path) -> None:
    for path in GOLDEN.glob("*.zst"):
        (landing / path.name).write_bytes(path.read_bytes())


def land_all(landing: Path) -> tuple[list[Segment], list[str]]:
    """Land everything. Return the segments that land later, and the topics of `land_elsewhere`."""
    later = [
        *land_damaged(landing),
        *land_halves(landing),
        *land_repeats(landing),
        *land_session(landing),
        *land_new_database(landing),
        *land_overlapping(landing),
    ]
    land(landing, log_of("senml").seal(senml_events()))
    foreign_topics = land_elsewhere(landing)
    land_contradiction(landing)
    land(landing, *flooded(), *repeated_starts(), far_ahead())
    land_odd_names(landing)
    land_broken_chain(landing)
    land_golden(landing)
    return later, foreign_topics
