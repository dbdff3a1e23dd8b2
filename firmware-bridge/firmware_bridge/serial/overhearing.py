"""Describes the traffic between other devices on a Modbus line as human-readable text.

Each request, response and damaged frame has its own text. Registers that are named in the
configuration are shown as readings, with name and unit. Other registers are shown as plain values.
"""

from collections.abc import Mapping
from typing import Final

from firmware_bridge.protocols.frame import Damage, Frame
from firmware_bridge.protocols.modbus import Modbus
from firmware_bridge.protocols.modbus_answer import (
    READ_FUNCTIONS,
    exception_of,
    quantities_of,
)
from firmware_bridge.protocols.modbus_device import Device
from firmware_bridge.protocols.modbus_register import span_of
from firmware_bridge.protocols.modbus_traffic import Message, ModbusTraffic
from firmware_bridge.serial.watching import values_text

_KINDS: Final = {
    **{function: kind for kind, function in READ_FUNCTIONS.items()},
    5: "coil",
    6: "holding",
    15: "coil",
    16: "holding",
}
_BITS: Final = ("coil", "discrete")
_ON: Final = b"\xff\x00"


class Overhearing:
    """Decoder that describes each message of Modbus traffic as text.

    `frames` counts the complete messages, and `damaged` counts the damaged frames.
    """

    def __init__(self, modbus: Modbus | None, units: Mapping[str, str] | None = None) -> None:
        """Load the names of devices and registers from the settings `modbus`.

        If `modbus` is None, no names are known. `units` are the configured units, keyed by
        quantity.
        """
        self._units = units or {}
        self._traffic = ModbusTraffic()
        self._devices: dict[int, list[Device]] = {}
        for device in () if modbus is None else modbus.resolved_devices:
            self._devices.setdefault(device.address, []).append(device)
        self.frames = 0
        self.damaged = 0

    def read(self, data: bytes) -> list[str]:
        """Process received bytes. Return one line of text for each message or damaged frame."""
        return [self._text_of(each) for each in self._traffic.feed(data)]

    def read_silence(self) -> list[str]:
        """Return one line of text for each frame that remains in the buffer.

        Call this when the line has become silent, because a silence ends the last frame. A frame
        that is still incomplete counts as damaged.
        """
        return [self._text_of(each) for each in self._traffic.flush()]

    def _text_of(self, found: Message | Damage) -> str:
        if isinstance(found, Damage):
            self.damaged += 1
            return f"!! {found.reason}"
        self.frames += 1
        devices = self._devices.get(found.address, [])
        names = " or ".join(dict.fromkeys(each.name for each in devices))
        who = "all" if found.address == 0 else names or str(found.address)
        if found.refusal is not None:
            return f"< {who}: !! {exception_of(found.refusal)}"
        return f"{'<' if found.is_answer else '>'} {who}: {self._content_of(found, devices)}"

    def _content_of(self, message: Message, devices: list[Device]) -> str:
        kind = _KINDS[message.function]
        values = _values_text(message, kind)
        if message.is_write:
            meant = f"write {kind} {span_of(message.first, message.count)}"
            return f"{meant} = {values}" if values else meant
        if not message.is_answer:
            return f"{kind} {span_of(message.first, message.count)}"
        if message.request is None:
            return f"{kind} = {values}"
        named = self._named_values(message, message.request, devices, kind)
        span = span_of(message.request.first, message.request.count)
        return named or f"{kind} {span} = {values}"

    def _named_values(
        self, answer: Message, request: Message, devices: list[Device], kind: str
    ) -> str:
        """Return the readings in a response as text, or "" if none of its registers has a name.

        The names are from `devices`. `kind` is the Modbus table of the registers, such as `holding`
        or `coil`.
        """
        end = request.first + request.count
        registers = [
            each
            for device in devices
            for each in device.registers
            if each.kind == kind and request.first <= each.first and each.end <= end
        ]
        expected_bytes = (request.count + 7) // 8 if kind in _BITS else 2 * request.count
        if not registers or len(answer.values) != expected_bytes:
            return ""
        values, skipped = quantities_of(answer.values, registers, request.first)
        return values_text(Frame(values, skipped=skipped), self._units)


def _values_text(message: Message, kind: str) -> str:
    data = message.values
    if kind not in _BITS:
        return " ".join(str(int.from_bytes(data[at : at + 2])) for at in range(0, len(data), 2))
    if message.function not in (1, 2, 15):
        return "1" if data == _ON else "0"
    asked = message if message.is_write else message.request
    count = min(8 * len(data), 8 * len(data) if asked is None else asked.count)
    return " ".join(str(data[at // 8] >> at % 8 & 1) for at in range(count))
