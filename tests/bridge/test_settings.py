"""Settings with which a bridge cannot work are refused when they are created, with the fix."""

from pathlib import Path
from typing import Any

import pytest
from firmware_bridge.mqtt.settings import BrokerSettings
from firmware_bridge.settings import BridgeSettings

from tests.bridge.running import port_of

PORT = port_of("a", Path("/dev/ttyUSB0"), "json")
BRIDGE: dict[str, Any] = {
    "data_dir": Path("var"),
    "broker": BrokerSettings("127.0.0.1", 1883, "bridge"),
    "control_socket": Path("var/control.sock"),
    "ports": (PORT,),
}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"window": 0}, "window"),
        ({"window": 65536}, "window"),
        ({"outbox_bytes_max": 1}, "outbox_max"),
        ({"commit_delay_seconds": -1.0}, "commit_delay"),
        ({"commit_delay_seconds": 11.0}, "commit_delay"),
        ({"report_seconds": 0}, "report_seconds"),
        ({"ports": (PORT, PORT)}, "same name"),
    ],
)
def test_a_bridge_that_cannot_work_is_refused_with_the_fix(
    change: dict[str, Any], words: str
) -> None:
    BridgeSettings(**BRIDGE)
    with pytest.raises(ValueError, match=words):
        BridgeSettings(**{**BRIDGE, **change})
