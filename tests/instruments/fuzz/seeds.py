"""The fuzzer's seeds: inputs derived from the packet vectors, and a few complete stories.

They are generated at each start, so a new vector becomes a seed immediately.
"""

from collections.abc import Iterator
from typing import Final

from gateway.broker.wire.encoder import encode
from gateway.broker.wire.packets import Connect
from tests.broker.wire.alternative_vectors import ALTERNATIVES
from tests.broker.wire.malformed_vectors import MALFORMED
from tests.broker.wire.vectors import VECTORS
from tests.instruments.fuzz import decoder_target, journal_target, made_packets, segment_target
from tests.instruments.fuzz.byte_program import joined
from tests.instruments.fuzz.connection_target import ACTIONS, CUT_AT_THE_END, VERSIONS
from tests.instruments.fuzz.made_packets import MAKERS

SEED_BYTES_MAX: Final = 400
"""Longer vectors test length limits, and fuzzing their padding would waste time."""

ACTION: Final = {action.__name__: bytes([index]) for index, action in enumerate(ACTIONS)}
NO_LIMITS_CHANGED: Final = b"\x00"
RAW_BYTES_MAX: Final = 200
"""Longest arguments of one action, whose count is one byte."""

Story = list[bytes]
"""Actions with their arguments."""


def decoder_seeds() -> Iterator[bytes]:
    """Yield every vector in each of its versions, and some of them with their memory measured."""
    for number, (version, sender, wire) in enumerate(_wires()):
        side = 0 if sender == "client" else decoder_target.SIDE_BIT
        set_up = decoder_target.VERSIONS.index(version) | side
        yield bytes([set_up, 3, 6]) + wire
        if number % 8 == 0:
            yield bytes([set_up | decoder_target.MEMORY_MEASURED, 0, 9]) + wire + wire


def _wires() -> Iterator[tuple[int, str, bytes]]:
    for vector in (*VECTORS, *ALTERNATIVES):
        for version in vector.versions:
            for sender in vector.senders:
                if len(vector.wire) <= SEED_BYTES_MAX:
                    first = vector.wire[0] >> 4 == 1
                    yield 0 if first else version, sender, vector.wire
    for bad in MALFORMED:
        if len(bad.wire) <= SEED_BYTES_MAX:
            yield bad.version, bad.sender, bad.wire


def connection_seeds() -> Iterator[bytes]:
    """Yield stories with a power cut after each action, and each vector after a CONNECT."""
    for version in (3, 4, 5):
        for story in _stories(version):
            yield NO_LIMITS_CHANGED + joined(story)
            for length in range(1, len(story)):
                yield bytes([CUT_AT_THE_END]) + joined(story[:length])
    for version, sender, wire in _wires():
        if sender == "client" and len(wire) < RAW_BYTES_MAX:
            connect = Connect(version, "a", False, 0, None, None, None)
            before = [_do("raw", *encode(connect, version))] if version else []
            yield NO_LIMITS_CHANGED + joined([*before, _do("raw", *wire), _do("commit")])


def _do(action: str, *arguments: int) -> bytes:
    return ACTION[action] + bytes(arguments)


def _join(version: int, flags: int, client: int, *properties: int) -> bytes:
    return _do("join", VERSIONS.index(version), flags, client, *(properties or (0,)))


def _send(maker: str, *arguments: int) -> bytes:
    return _do("send", MAKERS.index(getattr(made_packets, maker)), *arguments)


def _stories(version: int) -> Iterator[Story]:
    expires_never = (1, 3) if version == 5 else (0,)
    subscriber = [_join(version, 0, 1, *expires_never), _send("subscribe", 0, 0, 1, 2)]
    publisher = [_do("choose", 1), _join(version, 0, 0, *expires_never)]
    # Client b subscribes to t/+ at QoS 2; client a publishes to t/1 at QoS 2 and releases.
    pair = [*subscriber, _do("commit"), *publisher, _send("publish", 2, 0, 1, 0, 0)]
    released = [*pair, _do("commit"), _do("answer", 0), _do("commit")]
    received = [_do("choose", 0), *[_do("answer", 0), _do("commit")] * 2]
    yield [*released, *received, _do("cut_when_settled")]
    yield [*pair, _do("commit"), _do("cut"), subscriber[0], _do("turn"), _do("commit")]
    # The subscriber disconnects, its queue is written to disk, and it returns.
    many = [_send("publish", 1, 0, 1, index, 0) for index in range(6)]
    away = [_do("choose", 0), _do("lose"), _do("choose", 1), *many, _do("commit")]
    stored = [_do("begin_checkpoint"), *[_do("seal", 7)] * 4]
    yield [*released, *away, *stored, _do("choose", 0), subscriber[0], *received]
    yield _will(version)
    yield _authenticated(version)
    if version == 5:
        yield _narrow()


def _will(version: int) -> Story:
    """Return a story of a delayed, retained QoS 1 will to a persistent session."""
    will = (9, 0x40, 2, 0, 1) if version == 5 else (9, 0, 0, 1)
    properties = (1, 2) if version == 5 else (0,)
    return [
        _join(version, 2 | 4, 2, *properties, *will),
        _do("lose"),
        _do("wait", 5),
        _do("commit"),
        _join(version, 1, 0),
        _send("subscribe", 0x11, 0, 2, 1),
        _do("commit"),
        _do("restart"),
    ]


def _authenticated(version: int) -> Story:
    """Return a story of two logins: by password, or in 5.0 by a method with a challenge."""
    if version < 5:
        return [_join(version, 48, 0), _send("pingreq"), _do("authenticate", 0), _do("commit")]
    asked = [_do("authenticate", 8), _send("auth", 2), _do("authenticate", 0), _do("commit")]
    return [_join(5, 0, 0, 0x41, 2, 0), *asked, _send("auth", 3), *asked, _do("drop")]


def _narrow() -> Story:
    """Return a story of a 5.0 subscriber with small limits: one in flight, 60 bytes, one alias."""
    terms = (0x0F, 3, 0, 4, 1)  # expiry, receive maximum 1, packets of 60 bytes, one alias
    messages = [
        _send("publish", 1, 0, 1, 0, 0),
        _send("publish", 2, 0, 1, 0, 0x02, 1),  # expires after a second
        _send("publish", 1, 0, 3, 1, 0),  # too large
        _send("publish", 0, 0, 1, 0, 0),
        _send("publish", 1, 1, 2, 2, 0x20, 0),
    ]
    answers = [_do("answer", 0), _do("commit")] * 2
    return [
        _join(5, 0, 1, *terms),
        _send("subscribe", 0x10, 0, 1, 2),
        _do("choose", 1),
        _join(5, 0, 0, 1, 3),
        *messages,
        _do("commit"),
        _do("answer", 0),
        _do("commit"),
        _do("choose", 0),
        *answers,
        _do("lose"),
        _do("wait", 2),
        _join(5, 0, 1, *terms),
        *answers,
        *answers,
    ]


ACTIONS_OF_JOURNALS: Final = [action.__name__ for action in journal_target.ACTIONS]


def journal_seeds() -> Iterator[bytes]:
    """Yield each kind of damage at a few places of each file, but never hide the journal's end."""
    yield b"\x00"
    for index in range(len(journal_target.ACTIONS)):
        for number in range(journal_target.FILES):
            is_end_hidden = ACTIONS_OF_JOURNALS[index] == "make_unreadable" and (
                number == journal_target.FILES - 1
            )
            for place in (0,) if is_end_hidden else (0, 2, 8):
                yield b"\x00" + joined([bytes([index, number, place, 30, 1, number, 4, 0, 9])])


def segment_seeds() -> Iterator[bytes]:
    """Yield each kind of change to some lines of a segment and of a chain's state."""
    for kind in (0, 1):
        yield bytes([kind])
        for index in range(len(segment_target.ACTIONS)):
            for line in (0, 6):
                arguments = bytes([index, line, 3, 2]) + b'"}'
                yield bytes([kind]) + joined([arguments])
