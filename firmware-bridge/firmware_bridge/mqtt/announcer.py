"""Publishes descriptions of devices for Home Assistant, and removes outdated descriptions.

The announcer has an MQTT connection of its own, separate from the connection for readings. It
subscribes to Home Assistant's status topic in a clean session. The broker therefore queues no
status messages while the bridge is offline. Descriptions are published at QoS 1 and retained. They
are sent again on each connection, and whenever Home Assistant starts.
"""

import asyncio
import contextlib
import logging
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from gmqtt.mqtt.constants import MQTTv311  # type: ignore[import-untyped]
from gmqtt.mqtt.handler import MQTTConnectError  # type: ignore[import-untyped]
from gmqtt.storage import PersistentStorage  # type: ignore[import-untyped]

from firmware_bridge.mqtt.discovery import OFFLINE, ONLINE
from firmware_bridge.mqtt.discovery_file import TOPICS_MAX, contents_of, load, write
from firmware_bridge.mqtt.settings import BrokerSettings
from firmware_bridge.readings.seen import Seen, SeenDevice
from gateway.broker.wire.encoder import encode
from gateway.broker.wire.packets import Publish, Subscribe, Subscription
from gateway.process.files.disk_errors import line_of
from gateway.process.mqtt_client.backoff import Backoff
from gateway.process.mqtt_client.client import SessionClient, close, connect, sentence_of, target_of

logger = logging.getLogger(__name__)

Port = TypeVar("Port")
"""The settings of a port. This package only passes them on."""

CHECK_SECONDS: Final = 1.0
"""Seconds between two checks for new values of devices."""
AGAIN_SECONDS_MIN: Final = 10.0
"""Minimum seconds between two resends of all descriptions. The limit is needed because any user may
publish the status message that requests a resend.
"""
UNACKNOWLEDGED_MAX: Final = 16
"""Maximum number of unacknowledged descriptions. Brokers usually accept at least this many."""
_VERSION: Final = 4
_SUBSCRIBE_ID: Final = 65535
_REMOVAL: Final = b""


class Announcer(Generic[Port]):
    """The publisher of device descriptions for Home Assistant.

    A file records which descriptions the broker retains. If descriptions are switched off, `run`
    removes all earlier descriptions and then returns. Otherwise, it runs until it is cancelled.
    """

    def __init__(
        self,
        settings: BrokerSettings,
        path: Path,
        configs: Callable[[Seen], Mapping[str, bytes]],
        *,
        ports: Sequence[Port],
        configured: Callable[[Mapping[str, SeenDevice], Sequence[Port]], Mapping[str, SeenDevice]],
        status_topic: str | None,
    ) -> None:
        """Load the file that records which descriptions earlier runs published.

        Args:
            settings: settings of the connection to the broker.
            path: path of the file that records what was published.
            configs: function that returns the descriptions of all known devices, keyed by topic.
            ports: the configured ports.
            configured: function that takes recorded devices and the configured ports, and returns
                the devices that are still configured.
            status_topic: the topic of Home Assistant's status. If it is None, descriptions are
                switched off, and the announcer only removes old descriptions.
        """
        self._settings = settings
        self._path = path
        self._configs = configs
        self._status_topic = status_topic
        self._remembered = load(path)
        self._configured = configured
        self.seen = Seen(configured(self._remembered.devices, ports))
        self._wake = asyncio.Event()
        self._saved = (set(self._remembered.topics), self.seen.changes)
        self._described: tuple[int, Mapping[str, bytes]] = (-1, {})
        self._acknowledged: dict[str, bytes] = {}
        self._in_flight: dict[int, tuple[str, bytes]] = {}
        self._latest_id = 0
        self._is_asked_again = False
        self._again_at_seconds = -math.inf
        self._fault: str | None = None
        self._is_connected = False
        self._home_assistant: tuple[str, int] | None = None  # The status, and when in Unix ms.

    def status(self) -> dict[str, object]:
        """Return the state of the connection, and the latest status of Home Assistant."""
        status, status_ms = self._home_assistant or (None, None)
        return {
            "connected": self._is_connected,
            "fault": None if self._is_connected else self._fault,
            "status": status,
            "status_ms": status_ms,
        }

    def ports_changed(self, ports: Sequence[Port]) -> None:
        """Describe only the devices on `ports`, and remove the descriptions of other devices."""
        self.seen.keep(self._configured(self.seen.devices, ports))
        self._wake.set()

    @property
    def is_done(self) -> bool:
        """True if descriptions are switched off, and all earlier ones have been removed."""
        return self._status_topic is None and not self._remembered.topics

    async def run(self) -> None:
        """Connect, and reconnect when necessary, until `is_done` is True.

        Then delete the file that records the descriptions, because it is no longer needed.
        """
        backoff = Backoff()
        while not self.is_done:
            fault = await self._connect_once(backoff)
            if fault is not None:
                self._log(fault)
                await backoff.wait()
        await asyncio.to_thread(self._path.unlink, missing_ok=True)

    async def _connect_once(self, backoff: Backoff) -> str | None:
        """Run one connection. Return the fault that ended it, or None if there was no fault."""
        client = SessionClient(
            f"{self._settings.client_id}-discovery",
            clean_session=True,
            persistent_storage=_Acknowledgements(self._receive_puback),
        )
        lost = asyncio.Event()

        def on_disconnect(*_: Any) -> None:
            lost.set()
            self._wake.set()

        client.on_disconnect = on_disconnect
        client.on_message = self._receive
        if self._settings.username is not None:
            client.set_auth_credentials(self._settings.username, self._settings.password)
        self._acknowledged, self._in_flight = {}, {}
        try:
            to = self._settings
            await connect(client, lost, **target_of(to.host, to.port, to.tls, MQTTv311))
            backoff.reset()
            self._fault, self._is_connected = None, True
            if self._status_topic is not None:
                subscription = Subscription(self._status_topic, 0, False, False, 0)
                client.send_packet(encode(Subscribe(_SUBSCRIBE_ID, [subscription]), _VERSION))
            await self._use(client, lost)
        except (OSError, MQTTConnectError, TimeoutError) as error:
            return sentence_of(error, fix="[bridge] username and password_file")
        finally:
            self._is_connected = False
            await close(client)
        return None if self.is_done else "the connection was lost"

    async def _use(self, client: SessionClient, lost: asyncio.Event) -> None:
        while not lost.is_set() and not self.is_done:
            self._wake.clear()
            self._send_again_if_asked(time.monotonic())
            wanted = self._wanted()
            if await self._save_if_changed():
                self._send(client, wanted)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(CHECK_SECONDS):
                    await self._wake.wait()

    def _send_again_if_asked(self, now_seconds: float) -> None:
        if self._is_asked_again and now_seconds - self._again_at_seconds >= AGAIN_SECONDS_MIN:
            self._is_asked_again, self._again_at_seconds = False, now_seconds
            self._acknowledged.clear()

    def _wanted(self) -> dict[str, bytes]:
        """Return the payload to publish on each topic, and add the topics to the record.

        The record lists the topics on which the broker may retain a description. An empty payload
        removes such a description.
        """
        wanted = dict.fromkeys(self._remembered.topics, _REMOVAL)
        if self._status_topic is not None:
            for topic, config in self._current_configs().items():
                if topic in wanted or len(wanted) < TOPICS_MAX:
                    wanted[topic] = config
        self._remembered.topics |= wanted.keys()
        self._remembered.devices = self.seen.devices
        return wanted

    def _current_configs(self) -> Mapping[str, bytes]:
        changes, configs = self._described
        if changes != self.seen.changes:
            changes, configs = self._described = (self.seen.changes, self._configs(self.seen))
        return configs

    async def _save_if_changed(self) -> bool:
        """Write the record of published descriptions to its file, if the record has changed.

        Return True if the file is up to date, or False if writing has failed.
        """
        state = (set(self._remembered.topics), self.seen.changes)
        if state == self._saved:
            return True
        contents = contents_of(self._remembered)
        try:
            await asyncio.to_thread(write, self._path, contents)
        except OSError as error:
            self._log(f"{self._path} cannot be written: {line_of(error)}")
            return False
        self._saved = state
        return True

    def _send(self, client: SessionClient, wanted: Mapping[str, bytes]) -> None:
        sent = {**self._acknowledged, **dict(self._in_flight.values())}
        for topic, config in sorted(wanted.items()):
            if len(self._in_flight) >= UNACKNOWLEDGED_MAX:
                return
            if sent.get(topic) != config:
                self._latest_id = self._latest_id % (_SUBSCRIBE_ID - 1) + 1
                self._in_flight[self._latest_id] = (topic, config)
                packet = Publish(topic, config, 1, True, False, self._latest_id, None)
                client.send_packet(encode(packet, _VERSION))

    def _receive_puback(self, packet_id: int) -> None:
        topic, config = self._in_flight.pop(packet_id, ("", _REMOVAL))
        if config == _REMOVAL:
            self._remembered.topics.discard(topic)
            self._acknowledged.pop(topic, None)
        else:
            self._acknowledged[topic] = config
        self._wake.set()

    def _receive(self, _: Any, topic: str, payload: bytes, qos: int, properties: Any) -> int:
        # Home Assistant subscribes before it publishes its status, so descriptions that are being
        # sent now still reach it.
        if topic == self._status_topic and payload in (ONLINE, OFFLINE):
            self._home_assistant = (payload.decode(), int(time.time() * 1000))
            self._is_asked_again = self._is_asked_again or payload == ONLINE
        return 0

    def _log(self, fault: str) -> None:
        if fault != self._fault:
            logger.warning("devices are not described for Home Assistant: %s", fault)
            self._fault = fault


class _Acknowledgements(PersistentStorage):  # type: ignore[misc]
    """A packet storage for gmqtt that only notifies the announcer of each PUBACK.

    The storage contains no packets, so gmqtt never resends anything.
    """

    def __init__(self, acknowledged: Callable[[int], None]) -> None:
        super().__init__()
        self._acknowledged = acknowledged

    def remove_message_by_mid(self, mid: int) -> None:
        """Notify the announcer that the broker has acknowledged the packet `mid` with PUBACK."""
        self._acknowledged(mid)
