"""Requests and responses that the bridge overhears on a Modbus line, built by pymodbus."""

from collections.abc import Sequence

import pytest
from firmware_bridge.protocols.frame import Damage
from firmware_bridge.protocols.modbus_traffic import MESSAGE_BYTES_MAX, Message, ModbusTraffic
from hypothesis import given
from hypothesis import strategies as st
from pymodbus.framer import FramerRTU
from pymodbus.pdu import DecodePDU, ExceptionResponse, ModbusPDU
from pymodbus.pdu.bit_message import (
    ReadCoilsRequest,
    ReadCoilsResponse,
    WriteMultipleCoilsRequest,
    WriteMultipleCoilsResponse,
    WriteSingleCoilRequest,
    WriteSingleCoilResponse,
)
from pymodbus.pdu.register_message import (
    ReadHoldingRegistersRequest,
    ReadHoldingRegistersResponse,
    ReadInputRegistersRequest,
    ReadInputRegistersResponse,
    WriteMultipleRegistersRequest,
    WriteMultipleRegistersResponse,
    WriteSingleRegisterRequest,
    WriteSingleRegisterResponse,
)

REQUEST = DecodePDU(is_server=True)


def on_line(pdu: ModbusPDU) -> bytes:
    """Return the bytes of a message as pymodbus builds them."""
    built: bytes = FramerRTU(REQUEST).buildFrame(pdu)
    return built


READ = ReadHoldingRegistersRequest(dev_id=5, address=1, count=2)
EXCHANGES: Sequence[tuple[ModbusPDU, ModbusPDU]] = [
    (READ, ReadHoldingRegistersResponse(dev_id=5, registers=[215, 0])),
    (
        ReadInputRegistersRequest(dev_id=5, address=0, count=1),
        ReadInputRegistersResponse(dev_id=5, registers=[7]),
    ),
    # Three bytes of values make the response as long as a request.
    (
        ReadCoilsRequest(dev_id=9, address=0, count=20),
        ReadCoilsResponse(dev_id=9, bits=[True, False] * 12),
    ),
    (
        WriteSingleRegisterRequest(dev_id=5, address=7, registers=[250]),
        WriteSingleRegisterResponse(dev_id=5, address=7, registers=[250]),
    ),
    (
        WriteSingleCoilRequest(dev_id=5, address=3, bits=[True]),
        WriteSingleCoilResponse(dev_id=5, address=3, bits=[True]),
    ),
    (
        WriteMultipleRegistersRequest(dev_id=247, address=7, registers=[1, 2, 3]),
        WriteMultipleRegistersResponse(dev_id=247, address=7, count=3),
    ),
    (
        WriteMultipleCoilsRequest(dev_id=5, address=3, bits=[True, False, True]),
        WriteMultipleCoilsResponse(dev_id=5, address=3, count=3),
    ),
    (READ, ExceptionResponse(3, exception_code=2, device_id=5)),
    (READ, ReadHoldingRegistersResponse(dev_id=5, registers=[216, 0])),
]
LINE = b"".join(on_line(each) for exchange in EXCHANGES for each in exchange)


def messages(found: Sequence[Message | Damage]) -> list[Message]:
    assert not [each for each in found if isinstance(each, Damage)]
    return [each for each in found if isinstance(each, Message)]


@pytest.mark.parametrize("size", [1, 2, 7, 64, 1000])
def test_each_message_is_found_in_pieces_of_any_size_with_what_pymodbus_put_there(
    size: int,
) -> None:
    traffic = ModbusTraffic()
    found = messages(
        [each for at in range(0, len(LINE), size) for each in traffic.feed(LINE[at : at + size])]
    )
    assert len(found) == 2 * len(EXCHANGES)
    for (request, answer), asked, answered in zip(EXCHANGES, found[::2], found[1::2], strict=True):
        assert (asked.address, asked.function) == (request.dev_id, request.function_code)
        assert (asked.first, asked.count) == (request.address, max(1, request.count))
        assert not asked.is_answer
        assert answered.is_answer
        assert answered.request == asked
        if isinstance(answer, ExceptionResponse):
            assert answered.refusal == answer.exception_code
        else:
            assert answered.function == answer.function_code
            assert answered.refusal is None
    assert found[1].values == bytes((0, 215, 0, 0))
    assert found[6].values == found[7].values == bytes((0, 250))
    assert found[10].values == bytes((0, 1, 0, 2, 0, 3))
    assert found[11].values == b""
    assert traffic.flush() == []


def test_an_answer_without_its_request_and_a_request_without_an_answer_are_found() -> None:
    request, answer = (on_line(each) for each in EXCHANGES[0])
    first, *others = messages(ModbusTraffic().feed(answer + request + request + answer))
    assert (first.is_answer, first.request) == (True, None)
    assert [each.is_answer for each in others] == [False, False, True]
    assert others[2].request == others[1]


def test_what_is_damaged_is_one_damage_and_the_next_message_is_found() -> None:
    request, answer = (on_line(each) for each in EXCHANGES[0])
    traffic = ModbusTraffic()
    assert len(traffic.feed(request)) == 1
    damaged = answer[:-1] + bytes((answer[-1] ^ 1,))
    found = traffic.feed(damaged + request + answer)
    assert found[0] == Damage("checksum")
    assert [each.is_answer for each in messages(found[1:])] == [False, True]
    assert traffic.feed(b"\xff\x2b\xff\x2b\xff" + request)[0] == Damage("noise")
    # The damaged bytes look like the start of a message that is longer than the remaining bytes.
    assert len(traffic.feed(request[:-1] + b"\x00" + request)) == 2


def test_what_ends_in_a_silence_is_truncated_and_the_rest_of_a_message_at_first_is_no_damage() -> (
    None
):
    request, answer = (on_line(each) for each in EXCHANGES[0])
    traffic = ModbusTraffic()
    assert len(messages(traffic.feed(answer[3:] + request + answer[:-1]))) == 1
    assert traffic.flush() == [Damage("truncated")]
    assert len(messages(traffic.feed(request + answer))) == 2


@given(st.lists(st.binary(max_size=40)))
def test_no_bytes_raise_and_none_are_kept_without_limit(pieces: list[bytes]) -> None:
    traffic = ModbusTraffic()
    for piece in pieces:
        traffic.feed(piece)
        assert len(traffic._buffer) < MESSAGE_BYTES_MAX
    traffic.flush()
    assert traffic._buffer == b""


@given(st.binary(max_size=60), st.integers(1, 60))
def test_pieces_make_no_difference(data: bytes, size: int) -> None:
    data += LINE[:30]
    whole, pieces = ModbusTraffic(), ModbusTraffic()
    expected = whole.feed(data) + whole.flush()
    found = [each for at in range(0, len(data), size) for each in pieces.feed(data[at : at + size])]
    assert found + pieces.flush() == expected
