"""Which reason codes (MQTT 5.0) and return codes (MQTT 3) may stand in which packet, by who sent
it."""

from typing import Final

from gateway.wire import malformed as wrong
from gateway.wire.kinds import (
    AUTH,
    CONNACK,
    DISCONNECT,
    KIND_NAMES,
    PUBACK,
    PUBCOMP,
    PUBREC,
    PUBREL,
    SUBACK,
    UNSUBACK,
)
from gateway.wire.malformed import Malformed

# [MQTT-3.2.2-6] table 3.1
CONNACK_MQTT_3: Final = frozenset((0, 1, 2, 3, 4, 5))
# [MQTT-3.9.3-2]. MQTT 3.1 has no 0x80, but its clients have met it for as long as brokers have
# sent it.
SUBACK_MQTT_3: Final = frozenset((0, 1, 2, 0x80))

# [MQTT5-3.4.2-1] [MQTT5-3.5.2-1]
_PUBLISH_ANSWER: Final = frozenset((0, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99))
# [MQTT5-3.6.2-1] [MQTT5-3.7.2-1]
_RELEASE: Final = frozenset((0, 0x92))

# [MQTT5-3.14.2-1] table 3-10. A DISCONNECT without a reason code means 0, so either side may send
# 0.
_DISCONNECT_FROM_EITHER: Final = frozenset(
    (0, 0x80, 0x81, 0x82, 0x83, 0x90, 0x93, 0x94, 0x95, 0x96, 0x97, 0x98, 0x99)
)
_DISCONNECT_FROM_CLIENT: Final = _DISCONNECT_FROM_EITHER | frozenset((0x04,))
_DISCONNECT_FROM_SERVER: Final = _DISCONNECT_FROM_EITHER | frozenset(
    (0x87, 0x89, 0x8B, 0x8D, 0x8E, 0x8F, 0x9A, 0x9B, 0x9C, 0x9D, 0x9E, 0x9F, 0xA0, 0xA1, 0xA2)
)

# [MQTT5-3.15.2-1] table 3-11
_AUTH_FROM_CLIENT: Final = frozenset((0x18, 0x19))
_AUTH_FROM_SERVER: Final = frozenset((0, 0x18))

_MQTT_5: Final = {
    # [MQTT5-3.2.2-8] table 3-1
    CONNACK: frozenset([0, *range(0x80, 0x8B), 0x8C, 0x90, 0x95, 0x97, *range(0x99, 0x9E), 0x9F]),
    PUBACK: _PUBLISH_ANSWER,
    PUBREC: _PUBLISH_ANSWER,
    PUBREL: _RELEASE,
    PUBCOMP: _RELEASE,
    # [MQTT5-3.9.3-2] table 3-8
    SUBACK: frozenset((0, 1, 2, 0x80, 0x83, 0x87, 0x8F, 0x91, 0x97, 0x9E, 0xA1, 0xA2)),
    # [MQTT5-3.11.3-2] table 3-9
    UNSUBACK: frozenset((0, 0x11, 0x80, 0x83, 0x87, 0x8F, 0x91)),
}


def allowed_reason_codes(kind: int, from_client: bool) -> frozenset[int]:
    """Return what MQTT 5.0 lets this side put into a packet of this kind."""
    if kind == DISCONNECT:
        return _DISCONNECT_FROM_CLIENT if from_client else _DISCONNECT_FROM_SERVER
    if kind == AUTH:
        return _AUTH_FROM_CLIENT if from_client else _AUTH_FROM_SERVER
    return _MQTT_5[kind]


def check_reason_code(kind: int, reason_code: int, allowed: frozenset[int]) -> None:
    if reason_code not in allowed:
        expected = ", ".join([f"0x{code:02X}" for code in sorted(allowed)])
        raise Malformed(
            wrong.REASON_CODE,
            f"{KIND_NAMES[kind]} has the code 0x{reason_code:02X}: expected one of {expected}",
        )
