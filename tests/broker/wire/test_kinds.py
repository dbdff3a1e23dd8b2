"""Packet types and their names have the same order."""

from gateway.broker.wire import kinds

PACKET_TYPES = 16
LEVELS = {"MQTT_3_1", "MQTT_3_1_1", "MQTT_5_0"}


def test_each_packet_type_has_its_own_name_at_its_place() -> None:
    numbers = {
        name: number
        for name, number in vars(kinds).items()
        if isinstance(number, int) and name not in LEVELS
    }
    assert len(numbers) == PACKET_TYPES - 1
    assert {kinds.KIND_NAMES[number]: number for number in numbers.values()} == numbers
    assert len(kinds.KIND_NAMES) == PACKET_TYPES
