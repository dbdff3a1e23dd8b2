"""The serial protocol 2.x of MySensors gateways: each line is one message from one node::

    node-id ; child-sensor-id ; command ; ack ; type ; payload LF

Battery levels and the values that nodes set become readings. Presentations, requests and the
gateway's own messages are ignored. The bridge only listens. It is not a controller and never
responds. Source: the MySensors serial protocol 2.x.
"""

import re
from collections import Counter
from dataclasses import dataclass
from typing import ClassVar, Final

from firmware_bridge.protocols.frame import Damaged, Frame
from firmware_bridge.protocols.interface import DecoderSettings
from firmware_bridge.protocols.lines import LineDecoder
from firmware_bridge.protocols.text_values import NOT_MEASURED, value_of
from firmware_bridge.readings.kinds import Kind, Kinds
from firmware_bridge.readings.measurement import Measurement

_MESSAGE = re.compile(r"([0-9]{1,3});([0-9]{1,3});([0-4]);([01]);([0-9]{1,3});(.*)")
_SET, _INTERNAL = 1, 3
_BATTERY_LEVEL = 0
_BATTERY: Final[tuple[str, str | None, Kind | None]] = ("battery", "%", "number")
_BYTE_MAX = 255

_TYPES: Final[dict[int, tuple[str, str | None]]] = {
    0: ("temperature", "Cel"), 1: ("humidity", "%RH"), 2: ("status", None),
    3: ("percentage", "%"), 4: ("pressure", "hPa"), 5: ("forecast", None), 6: ("rain", None),
    7: ("rain_rate", None), 8: ("wind", "m/s"), 9: ("gust", "m/s"), 10: ("direction", "deg"),
    11: ("uv", None), 12: ("weight", "kg"), 13: ("distance", "m"), 14: ("impedance", "Ohm"),
    15: ("armed", None), 16: ("tripped", None), 17: ("power", "W"), 18: ("energy", "kWh"),
    21: ("hvac_state", None), 22: ("hvac_speed", None), 23: ("light_level", "%"),
    24: ("var1", None), 25: ("var2", None), 26: ("var3", None), 27: ("var4", None),
    28: ("var5", None), 34: ("flow", "m/s"), 35: ("volume", "m3"), 36: ("lock", None),
    37: ("level", None), 38: ("voltage", "V"), 39: ("current", "A"), 40: ("rgb", None),
    41: ("rgbw", None), 42: ("id", None), 47: ("text", None),
    48: ("custom", None), 49: ("position", None), 51: ("ph", "pH"),
    52: ("redox", "mV"), 53: ("conductivity", None), 54: ("reactive_power", "var"),
    55: ("apparent_power", "VA"), 56: ("power_factor", "/"),
}  # fmt: skip
"""Names of value types (V_... in the protocol), and their SenML units or None. The keys are
type codes."""
_TEXTS: Final = frozenset({5, 21, 22, 40, 41, 42, 43, 46, 47, 48, 49})
"""Types whose values are always strings, even if a value such as `001122` looks like a number."""
_NUMBERS: Final = frozenset(_TYPES) - _TEXTS - {24, 25, 26, 27, 28}
"""Types whose values are always numbers. Nodes can send any values with V_VAR1 to V_VAR5."""


@dataclass(frozen=True, kw_only=True)
class MySensors(DecoderSettings):
    """Settings for lines from a MySensors gateway."""

    has_parts: ClassVar = True

    def decoder(self) -> "MySensorsDecoder":
        """Create a decoder for one serial line."""
        return MySensorsDecoder()


class MySensorsDecoder(LineDecoder):
    """Decoder of MySensors messages. Each node is a separate device.

    The name of a node's device is the name of the port's device, a dash, and the node's number.
    """

    def __init__(self) -> None:
        super().__init__(lambda line, skipped: {}, can_mistake_part_of_line=True)

    def frame_of(self, text: str) -> Frame | None:
        """Decode one message and return its reading, or None if it has no reading."""
        skipped: Counter[str] = Counter()
        frame = read_message(text, self.kinds, skipped)
        self.tally.skipped.update(skipped)
        return frame


def read_message(line: str, kinds: Kinds, skipped: Counter[str]) -> Frame | None:
    """Decode one message and return its reading, or None if it has no reading.

    `skipped` counts messages in which the node reports that it has no measured value.

    Raises:
        Damaged: with reason "syntax" if the line is not a message, or "type", "value" or "text" if
            the value in the message is invalid.
    """
    found = _MESSAGE.fullmatch(line)
    if found is None:
        raise Damaged("syntax")
    node, child, command, acknowledges, type_code = (int(part) for part in found.groups()[:5])
    if node > _BYTE_MAX or child > _BYTE_MAX or type_code > _BYTE_MAX:
        raise Damaged("syntax")
    # The flag marks an echo of a controller's message, which is not a value that a node measured.
    if acknowledges:
        return None
    if command == _INTERNAL and type_code == _BATTERY_LEVEL:
        name, unit, expected = _BATTERY
    elif command == _SET:
        base, unit = _TYPES.get(type_code, (f"type{type_code}", None))
        name, expected = f"{base}_{child}", _kind_of(type_code)
    else:
        return None
    of_node = f"{node}/{name}"
    try:
        value = value_of(found[6], expected or kinds.of(of_node))
    except Damaged as damage:
        if damage.reason != NOT_MEASURED:
            raise
        skipped[NOT_MEASURED] += 1
        return None
    kinds.note(of_node, value)
    return Frame({name: [Measurement(name, value, unit)]}, part=str(node))


def _kind_of(type_code: int) -> Kind | None:
    """Return the data type of values with this MySensors type code: "text" or "number".

    The result is None for codes whose data type depends on the node.
    """
    if type_code in _TEXTS:
        return "text"
    return "number" if type_code in _NUMBERS else None
