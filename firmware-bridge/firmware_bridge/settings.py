"""Settings of the bridge: plain values, checked when they are created.

The configuration room makes them of the operator's file; a value that cannot work is refused here
with a `ValueError` whose message names the value and the fix.
"""

from dataclasses import dataclass
from pathlib import Path

from firmware_bridge.mqtt.settings import BrokerSettings
from firmware_bridge.serial.settings import PortSettings

# Packet identifiers are 16 bits and 0 is none of them. [MQTT-2.3.1-1]
WINDOW_MAX = 65535
# A smaller outbox would be full after a few frames.
OUTBOX_BYTES_MIN = 65536
# A board that waits for each acknowledgement sends a frame after this long at the latest.
COMMIT_DELAY_SECONDS_MAX = 10.0


@dataclass(frozen=True)
class BridgeSettings:
    """The whole bridge: where its outbox is, which broker it feeds, which ports it reads.

    `window` bounds the QoS 2 exchanges in flight; it must not exceed the broker's
    `max_awaiting_rel`. `outbox_bytes_max` bounds what waits on disk while the broker is away,
    `outbox_age_max_seconds` how old it becomes; None: no bound.
    `commit_delay_seconds` is how long frames of boards may wait for others before their commit.
    `availability_topic` is None where nothing is said of bridge and ports.
    `home_assistant_prefix` is where devices are described, as those of `gateway_id`; None: nowhere.
    `problem_topic` is where the gateway's problems are published, None where they are not;
    `page_url` is its page's, as the network reaches it.
    `alarms_topic` is the topic of the gateway's alarms; None: they are not published.
    `takes_commands`: clients of the broker may send commands to boards.
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
