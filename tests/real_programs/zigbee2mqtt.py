"""A real Zigbee2MQTT as a process of its own, with the network of a simulated ZiGate."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from tests.real_programs import zigate
from tests.real_programs.node_red import NODE

PLACE = Path(__file__).resolve().parents[2] / "build" / "real-programs" / "zigbee2mqtt"
PROGRAM = PLACE / "node_modules" / "zigbee2mqtt" / "index.js"
DEADLINE_SECONDS = 60.0
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


class Zigbee2Mqtt:
    """A Zigbee2MQTT that knows the devices of the coordinator at `coordinator_port`."""

    def __init__(self, directory: Path, broker_port: int, coordinator_port: int) -> None:
        self._directory = directory
        directory.mkdir()
        # JSON is YAML.
        (directory / "configuration.yaml").write_text(
            json.dumps(settings(broker_port, coordinator_port))
        )
        (directory / "database.db").write_text("\n".join(map(json.dumps, zigate.database())))
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it has started."""
        count = self.output().count(STARTED)
        with (self._directory / "output").open("ab") as output:
            self._process = subprocess.Popen(
                [str(NODE), str(PROGRAM)],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                cwd=self._directory,
                env={
                    "PATH": os.environ["PATH"],
                    "HOME": str(self._directory),
                    "ZIGBEE2MQTT_DATA": str(self._directory),
                },
            )
        deadline = time.monotonic() + DEADLINE_SECONDS
        while self.output().count(STARTED) == count:
            assert self._process.poll() is None, self.output()
            assert time.monotonic() < deadline, self.output()
            time.sleep(0.1)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Stop it as a service manager does, or with SIGKILL."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(DEADLINE_SECONDS)
            self._process = None

    def output(self) -> str:
        """Return everything printed so far."""
        path = self._directory / "output"
        return path.read_text(errors="replace") if path.exists() else ""

    def unsent(self) -> list[float]:
        """Return the temperatures that it could not send and has discarded, as it logs."""
        return [json.loads(payload)["temperature"] for payload in UNSENT.findall(self.output())]
