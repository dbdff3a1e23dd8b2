"""Messages of Modbus TCP: complete ones from a stream, and the one that is the response."""

import pytest
from firmware_bridge.protocols.frame import Damage
from firmware_bridge.protocols.modbus_answer import Block
from firmware_bridge.protocols.modbus_register import Register
from firmware_bridge.protocols.modbus_tcp import (
    MESSAGE_BYTES_MAX,
    MessageStream,
    NotModbusTcp,
    Tcp,
)
from hypothesis import given
from hypothesis import strategies as st

BLOCK = Block("tank", 7, [Register(name="level", at=10), Register(name="flow", at=11, type="f32")])
ANSWER = bytes((3, 6, *range(6)))


def message(transaction: int, unit: int, answer: bytes, *, protocol: int = 0) -> bytes:
    head = b"".join(each.to_bytes(2) for each in (transaction, protocol, len(answer) + 1))
    return head + bytes((unit,)) + answer


def test_a_request_is_the_standard_s_and_each_has_a_transaction_of_its_own() -> None:
    tcp = Tcp()
    assert tcp.message_of(BLOCK) == message(1, 7, bytes((3, 0, 10, 0, 3)))
    assert tcp.message_of(BLOCK)[:2] == b"\x00\x02"
    found = {tcp.message_of(BLOCK)[:2] for _ in range(1 << 16)}
    assert len(found) == 1 << 16


def test_an_answer_is_read_in_any_pieces_and_late_ones_are_passed_over() -> None:
    tcp = Tcp()
    for _ in range(3):
        tcp.message_of(BLOCK)
    late = message(1, 7, ANSWER) + message(2, 7, b"\x83\x02")
    whole = late + message(3, 7, ANSWER)
    for length in range(len(whole)):
        assert tcp.read(whole[:length], BLOCK) is None
    assert tcp.read(whole, BLOCK) == ANSWER
    assert tcp.read(whole + late, BLOCK) == ANSWER
    assert tcp.timed_out(late, BLOCK) == Damage("no_answer")


def test_a_server_that_never_numbers_its_answers_is_read() -> None:
    """Some servers always respond with transaction 0, against the standard."""
    tcp = Tcp()
    for _ in range(2):
        tcp.message_of(BLOCK)
        assert tcp.read(message(0, 7, ANSWER), BLOCK) == ANSWER
        assert not tcp.is_numbered, "a late response could not be told apart"
    tcp.message_of(BLOCK)
    assert tcp.read(message(3, 7, ANSWER), BLOCK) == ANSWER
    assert tcp.is_numbered
    tcp.message_of(BLOCK)
    assert tcp.read(message(0, 7, ANSWER), BLOCK) is None


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (message(1, 8, ANSWER), "address"),
        (message(1, 7, ANSWER, protocol=1), "noise"),
        (b"HTTP/1.1 400 Bad Request\r\n", "noise"),
        (message(1, 7, bytes(254)), "noise"),
    ],
)
def test_another_unit_and_what_is_no_message_is_damage(answer: bytes, reason: str) -> None:
    tcp = Tcp()
    tcp.message_of(BLOCK)
    assert tcp.read(answer, BLOCK) == Damage(reason)


@given(st.lists(st.binary(min_size=1, max_size=253), max_size=5), st.data())
def test_a_stream_gives_whole_messages_in_whatever_pieces_it_comes(
    answers: list[bytes], data: st.DataObject
) -> None:
    sent = b"".join(message(at, 7, b"\x03" + each[1:] + b"\0") for at, each in enumerate(answers))
    stream, found, at = MessageStream(), b"", 0
    while at < len(sent):
        size = data.draw(st.integers(1, 300))
        piece = stream.feed(sent[at : at + size])
        assert sent[len(found) :].startswith(piece)
        found, at = found + piece, at + size
    assert found == sent
    assert not stream.has_begun
    stream.feed(b"\0\0\0")
    assert stream.has_begun


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"GET / HTTP/1.1\r\n", "where Modbus TCP has 0"),
        (bytes((7, 3, 2, 0, 42, 0x31, 0x9B)), "needs rtu\\+tcp://"),
        (bytes((0, 1, 0, 0, 0, 2)), "3 to 254"),
        (bytes((0, 1, 0, 0, 0, 255)), "255 bytes after its head"),
        (bytes((0, 1, 0, 0, 255, 255)), "65535 bytes"),
    ],
)
def test_a_stream_that_is_none_ends_with_a_sentence(data: bytes, sentence: str) -> None:
    with pytest.raises(NotModbusTcp, match=sentence):
        MessageStream().feed(data)
    stream = MessageStream()
    # The error shows with the last byte of the length, and not before.
    assert stream.feed(data[:5]) == b""
    with pytest.raises(NotModbusTcp, match=sentence):
        stream.feed(data[5:6])


@given(st.binary(max_size=600))
def test_no_bytes_raise_another_error_or_stay(data: bytes) -> None:
    tcp = Tcp()
    tcp.message_of(BLOCK)
    tcp.read(data, BLOCK)
    stream = MessageStream()
    try:
        whole = stream.feed(data)
    except NotModbusTcp:
        return
    assert len(data) - len(whole) < MESSAGE_BYTES_MAX
