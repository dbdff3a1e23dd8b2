"""Settings of the bridge, as plain values that are validated when they are created.

`gateway.configuration` creates the settings from the operator's file. If a value is invalid, a
`ValueError` is raised. The message names the value and its limits.
"""

from dataclasses import dataclass
from pathlib import Path

from firmware_bridge.mqtt.settings import BrokerSettings
from firmware_bridge.serial.settings import PortSettings

# Packet identifiers have 16 bits, and 0 is not valid. [MQTT-2.3.1-1]
WINDOW_MAX = 65535
# A smaller outbox would be full after a few frames.
OUTBOX_BYTES_MIN = 65536
# Upper limit of commit_delay. A board that waits for each acknowledgement can be delayed by it.
COMMIT_DELAY_SECONDS_MAX = 10.0


@dataclass(frozen=True)
class BridgeSettings:
    """Settings of the whole bridge: the outbox in `data_dir`, the broker, and the serial ports.

    `window` limits the number of QoS 2 exchanges in flight, and must not exceed the broker's
    `max_awaiting_rel`. `outbox_bytes_max` limits the size of the readings that are stored in the
    outbox. `outbox_age_max_seconds` limits the age of the readings, or is None for no limit. A
    board's frame waits at most `commit_delay_seconds` for other frames before it is committed. A
    status report is sent to `control_socket` every `report_seconds`.

    The state of the bridge and its ports is published to `availability_topic`. The gateway's
    problems and alarms are published to `problem_topic` and `alarms_topic`. The devices of
    `gateway_id` are described on topics that begin with `home_assistant_prefix`. If a topic or the
    prefix is None, nothing is published there. `page_url` is the address of the gateway's web page
    on the network. If `takes_commands` is True, MQTT clients can send commands to boards.
    """

    data_dir: Path
    broker: BrokerSettings
    control_socket: Path
    ports: tuple[PortSettings, ...]
    window: int = 100
    outbox_bytes_max: int = 268435456
    outbox_age_max_seconds: float | None = None
    commit_delay_seconds: float = 0.0
    report_seconds: float = 1.0
    availability_topic: str | None = None
    takes_commands: bool = False
    gateway_id: str = ""
    home_assistant_prefix: str | None = None
    problem_topic: str | None = None
    page_url: str | None = None
    alarms_topic: str | None = None

    def __post_init__(self) -> None:
        if not 1 <= self.window <= WINDOW_MAX:
            raise ValueError(f"bridge window {self.window} is not in 1 to {WINDOW_MAX}")
        if self.outbox_bytes_max < OUTBOX_BYTES_MIN:
            raise ValueError(
                f"bridge outbox_max {self.outbox_bytes_max} bytes is below {OUTBOX_BYTES_MIN}"
            )
        if not 0 <= self.commit_delay_seconds <= COMMIT_DELAY_SECONDS_MAX:
            raise ValueError(
                f"bridge commit_delay {self.commit_delay_seconds} s is not in 0 to "
                f"{COMMIT_DELAY_SECONDS_MAX:g}"
            )
        if self.report_seconds <= 0:
            raise ValueError(f"bridge report_seconds {self.report_seconds} is not positive")
        names = [port.name for port in self.ports]
        if len(set(names)) != len(names):
            raise ValueError(f"two serial ports have the same name: {sorted(names)}")
