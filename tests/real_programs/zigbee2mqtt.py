"""A real Zigbee2MQTT as a process of its own, with the network of a simulated ZiGate."""

import json
import re
from pathlib import Path
from typing import Any

from tests.real_programs import zigate
from tests.real_programs.node_red import NODE
from tests.real_programs.program import Program

PLACE = Path(__file__).resolve().parents[2] / "build" / "real-programs" / "zigbee2mqtt"
PROGRAM = PLACE / "node_modules" / "zigbee2mqtt" / "index.js"
STARTED = "Zigbee2MQTT started!"
UNSENT = re.compile(r"Cannot send message: topic: 'zigbee2mqtt/weather', payload: '(\{.*\})")


def settings(broker_port: int, coordinator_port: int) -> dict[str, Any]:
    """Return its configuration as a user would write it: devices at QoS 1, with Home Assistant."""
    return {
        "version": 5,
        "homeassistant": {"enabled": True},
        "mqtt": {"base_topic": "zigbee2mqtt", "server": f"mqtt://127.0.0.1:{broker_port}"},
        "serial": {"adapter": "zigate", "port": f"tcp://127.0.0.1:{coordinator_port}"},
        "frontend": {"enabled": False},
        "advanced": {
            "log_output": ["console"],
            "channel": zigate.CHANNEL,
            "pan_id": zigate.PAN_ID,
            "ext_pan_id": list(zigate.EXTENDED_PAN_ID.to_bytes(8)),
            "network_key": list(range(1, 17)),
            "enable_external_js": False,
        },
        "ota": {"disable_automatic_update_check": True},
        "device_options": {"qos": 1},
        "devices": {
            zigate.IEEE[zigate.SENSOR]: {"friendly_name": "weather"},
            zigate.IEEE[zigate.PLUG]: {"friendly_name": "plug"},
        },
    }


class Zigbee2Mqtt(Program):
    """A Zigbee2MQTT that knows the devices of the coordinator at `coordinator_port`."""

    def __init__(self, directory: Path, broker_port: int, coordinator_port: int) -> None:
        super().__init__(directory, [NODE, PROGRAM], {"ZIGBEE2MQTT_DATA": str(directory)})
        # JSON is YAML.
        (directory / "configuration.yaml").write_text(
            json.dumps(settings(broker_port, coordinator_port))
        )
        (directory / "database.db").write_text("\n".join(map(json.dumps, zigate.database())))

    def start(self) -> None:
        """Start it, and wait until it has started."""
        self.start_until_printed(STARTED)

    def unsent(self) -> list[float]:
        """Return the temperatures that it could not send and has discarded, as it logs."""
        return [json.loads(payload)["temperature"] for payload in UNSENT.findall(self.output())]
