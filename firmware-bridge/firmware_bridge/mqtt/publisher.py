"""Connects the bridge to the broker, so that the outbox can publish readings.

The bridge uses MQTT 3.1.1 with a persistent session. The outbox stores the name of the session
(`session_name.py`). In any other session, the broker might have stored the same packet identifiers
for other readings. It would then drop new readings as duplicates. If the broker has lost the
session, the bridge begins a session with a new name.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Any

from gmqtt.mqtt.constants import MQTTv311  # type: ignore[import-untyped]
from gmqtt.mqtt.handler import MQTTConnectError  # type: ignore[import-untyped]

from firmware_bridge.mqtt.availability import Availability
from firmware_bridge.mqtt.client import BridgeClient
from firmware_bridge.mqtt.settings import BrokerSettings
from firmware_bridge.outbox.outbox import Outbox
from gateway.process.mqtt_client.backoff import Backoff
from gateway.process.mqtt_client.client import close, connect, sentence_of, target_of
from gateway.process.mqtt_client.session_choice import SessionChoice, SessionUse

logger = logging.getLogger(__name__)

# Seconds between two checks of the availability of ports and devices.
AVAILABILITY_SECONDS = 1.0


FIX = "[bridge] username and password_file, and whether it is banned: oncegate ctl ban list"
"""Fix to suggest when the broker refuses the login. MQTT 3.1.1 has one return code for both an
unknown user and a banned user.
"""


class Publisher:
    """The MQTT client that publishes readings, and reconnects when the connection is lost.

    `run` continues until it is cancelled, and disconnects before it returns.
    """

    def __init__(
        self, settings: BrokerSettings, outbox: Outbox, availability: Availability | None = None
    ) -> None:
        self._settings = settings
        self._availability = availability
        self._outbox = outbox
        self._address = f"{settings.host}:{settings.port}"
        self._choice = SessionChoice(settings.client_id)
        self._fault: str | None = None
        self.connected = False

    def status(self) -> dict[str, object]:
        """Return the state of the connection, for the bridge's status report."""
        return {
            "connected": self.connected,
            "address": self._address,
            "session": self._outbox.session,
            "fault": self._fault,
        }

    async def run(self) -> None:
        """Connect, and reconnect when necessary, until cancelled."""
        backoff = Backoff()
        while True:
            fault = await self._connect_once(backoff)
            if fault is not None and fault != self._fault:
                logger.warning("no connection to the broker %s: %s", self._address, fault)
                self._fault = fault
            if fault is not None:
                await backoff.wait()

    async def _connect_once(self, backoff: Backoff) -> str | None:
        """Run one connection. Return the fault that ended it, or None if there was no fault."""
        session, use = self._choice.choose(self._outbox.session)
        deletes = use is SessionUse.DELETE
        will = self._availability.will() if self._availability and not deletes else None
        client = BridgeClient(session, self._outbox, clean_session=deletes, will=will)
        lost = asyncio.Event()
        send = client.send_packet
        known = asyncio.Event()

        def on_connect(client: BridgeClient, session_present: int, code: int, _: object) -> None:
            if use.accepts(session_present=bool(session_present)):
                known.set()
                self._outbox.receive_connected(send, session, session_present=bool(session_present))

        def on_disconnect(client: BridgeClient, *_: Any) -> None:
            lost.set()

        client.on_connect = on_connect
        client.on_disconnect = on_disconnect
        if self._settings.username is not None:
            client.set_auth_credentials(self._settings.username, self._settings.password)
        try:
            to = self._settings
            target = target_of(to.host, to.port, to.tls, MQTTv311)
            await connect(client, lost, **target)
            backoff.reset()
            if not known.is_set():
                return await self._give_up(session, use)
            self._note_connected()
            await self._use(send, lost)
        except (OSError, MQTTConnectError, TimeoutError) as error:
            return sentence_of(error, fix=FIX)
        finally:
            await self._leave(client, send)
        return "the connection was lost"

    async def _use(self, send: Callable[[bytes], None], lost: asyncio.Event) -> None:
        """Publish readings and availability over the new connection until it is lost."""
        availability = self._availability
        if availability is None:
            await lost.wait()
            return
        availability.begin(send)
        while not lost.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(AVAILABILITY_SECONDS):
                    await lost.wait()
            availability.update()

    async def _leave(self, client: BridgeClient, send: Callable[[bytes], None]) -> None:
        self.connected = False
        if self._availability is not None:
            self._availability.end()
        self._outbox.receive_disconnected(send)
        await close(client)

    async def _give_up(self, session: str, use: SessionUse) -> str | None:
        """Stop using a session. Return a description of the fault, or None if there was none."""
        if use is SessionUse.CONTINUE:
            await self._outbox.lose_session()
        return self._choice.give_up(session, use)

    def _note_connected(self) -> None:
        self.connected = True
        self._fault = None
        logger.info("connected to the broker %s as %s", self._address, self._outbox.session)
