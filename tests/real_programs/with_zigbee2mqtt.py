"""A Zigbee network's readings through Zigbee2MQTT and the broker, counted, over restarts."""

import json
import signal
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.real_programs import zigate
from tests.real_programs.listener import Listener
from tests.real_programs.zigbee2mqtt import Zigbee2Mqtt
from tests.system.broker_process import BrokerProcess

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

READINGS = 300
REPORT_SECONDS = 0.02
IN_FLIGHT_MAX = 32
"""The broker's `max_inflight`: at QoS 1 no more messages come twice after a restart."""
STATE, DEVICES = "zigbee2mqtt/bridge/state", "zigbee2mqtt/bridge/devices"
ENTITIES_MIN = 15
"""Home Assistant entities of the two devices and of the program itself, at least."""


class House:
    """Coordinator, Zigbee2MQTT, broker, and a program that reads what is published."""

    def __init__(self, directory: Path) -> None:
        self.broker = BrokerProcess()
        self.coordinator = zigate.ZiGate()
        self.program = Zigbee2Mqtt(
            directory / "zigbee2mqtt", self.broker.port, self.coordinator.port
        )
        self.broker.start()
        self.reader = Listener(self.broker.port, "zigbee2mqtt/#", "reader")

    def end(self) -> None:
        self.program.stop()
        self.reader.close()
        self.coordinator.close()
        self.broker.remove()

    def send_readings(self, first: int, count: int = READINGS) -> None:
        """Report temperatures of the sensor, from `first` hundredths of a degree upwards."""
        for number in range(first, first + count):
            self.coordinator.report(zigate.TEMPERATURE, zigate.SIGNED_16, number)
            time.sleep(REPORT_SECONDS)

    def received(self) -> Counter[int]:
        """Return how often each temperature was received, in hundredths of a degree."""
        payloads = self.reader.payloads.get("zigbee2mqtt/weather", [])
        return Counter(round(100 * json.loads(each)["temperature"]) for each in payloads)

    def unsent(self) -> set[int]:
        """Return the temperatures that Zigbee2MQTT has discarded while the broker was away."""
        return {round(100 * each) for each in self.program.unsent()}

    def wait_for(self, count: int) -> None:
        """Wait until the first `count` readings were received or discarded."""
        self.reader.wait_until(lambda: len(self.received().keys() | self.unsent()) >= count)


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    house = House(tmp_path)
    try:
        yield house
    finally:
        house.end()


def test_zigbee2mqtt_s_readings_arrive_over_restarts_of_the_broker(house: House) -> None:
    house.program.start()
    house.send_readings(0)
    house.wait_for(READINGS)
    assert house.received() == Counter(range(READINGS))
    for place, how in ((1, "terminated"), (2, "killed")):
        house.send_readings(place * READINGS, READINGS // 2)
        house.broker.restart(how)
        house.send_readings(place * READINGS + READINGS // 2, READINGS // 2)
        house.wait_for((place + 1) * READINGS)
    received, unsent = house.received(), house.unsent()
    assert sorted([*received, *unsent]) == list(range(3 * READINGS))
    assert received.total() - len(received) <= 2 * IN_FLIGHT_MAX


def test_zigbee2mqtt_is_described_found_again_and_obeys(house: House) -> None:
    entities = Listener(house.broker.port, "homeassistant/#")
    house.program.start()
    entities.wait_until(lambda: len(entities.payloads) >= ENTITIES_MIN)
    entities.close()
    house.reader.publish("zigbee2mqtt/plug/set", '{"state":"ON"}')
    house.reader.wait_until(
        lambda: any(
            json.loads(each)["state"] == "ON"
            for each in house.reader.payloads.get("zigbee2mqtt/plug", [])
        )
    )
    assert house.coordinator.is_on
    # It is killed: the broker publishes its will.
    house.program.stop(signal.SIGKILL)
    house.reader.wait_until(
        lambda: json.loads(house.reader.payloads[STATE][-1]) == {"state": "offline"}
    )
    # Its retained messages survive a kill of the broker while Zigbee2MQTT is stopped.
    house.broker.restart("killed")
    other = Listener(house.broker.port, "#")
    try:
        other.wait_until(
            lambda: (
                {STATE, DEVICES, "zigbee2mqtt/bridge/definitions"} <= other.retained.keys()
                and sum(each.endswith("/config") for each in other.retained) >= ENTITIES_MIN
            )
        )
        assert json.loads(other.retained[STATE]) == {"state": "offline"}
        names = {each["friendly_name"] for each in json.loads(other.retained[DEVICES])}
        assert names == {"Coordinator", "weather", "plug"}
        # It starts again, and the plug obeys.
        house.program.start()
        other.wait_until(lambda: b'{"state":"online"}' in other.payloads.get(STATE, []))
        other.publish("zigbee2mqtt/plug/set", '{"state":"OFF"}')
        other.wait_until(lambda: not house.coordinator.is_on)
    finally:
        other.close()
