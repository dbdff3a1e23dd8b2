"""The link to one of the two brokers: connects, subscribes, forwards messages, and reconnects.

The uplink stores the name of the session on disk, together with its exchanges in flight
(docs/decisions/0061-the-session-s-name-is-its-proof.md). If the broker no longer has this session,
the link begins a session with a new name.
"""

import asyncio
import contextlib
import json
import logging
from typing import Any, Final

from gmqtt import Message as Will  # type: ignore[import-untyped]
from gmqtt.mqtt.constants import MQTTv50, MQTTv311  # type: ignore[import-untyped]
from gmqtt.mqtt.handler import MQTTConnectError  # type: ignore[import-untyped]

from gateway.broker.wire.acknowledgement_encoder import puback, pubrec
from gateway.broker.wire.encoder import publish_frame
from gateway.broker.wire.packets import (
    Publish,
    Suback,
    Unsuback,
    topic_field_of,
)
from gateway.process.mqtt_client.backoff import Backoff
from gateway.process.mqtt_client.client import close, connect, sentence_of, target_of
from gateway.process.mqtt_client.session_choice import SessionChoice, SessionUse
from gateway.uplink.client import UplinkClient
from gateway.uplink.committer import Committer
from gateway.uplink.message import message_of
from gateway.uplink.reception import Arrival
from gateway.uplink.routes import Routes, Side
from gateway.uplink.settings import Endpoint, UplinkSettings
from gateway.uplink.settlement import (
    Answered,
    Arrived,
    Connected,
    Disconnected,
    SessionLost,
    Subscribed,
)
from gateway.uplink.subscribing import SubscriptionSync

logger = logging.getLogger(__name__)

BACKOFF_SECONDS_MIN: Final = 1.0
BACKOFF_SECONDS_MAX: Final = 60.0
"""Longest wait in seconds between two attempts.

Many gateways that have lost the same cluster must not all reconnect at the same moment.
"""
REFUSED_FILTERS_SECONDS: Final = 60.0
"""Pause in seconds before topic filters that a broker refused are requested again.

A connection may last for months, and the broker's access rules may change meanwhile.
"""
ONLINE, OFFLINE = b"online", b"offline"
_VERSIONS = {4: MQTTv311, 5: MQTTv50}


class Link:
    """The uplink's session with one of its two brokers, local or remote.

    `run` never returns. When it is cancelled, it disconnects.
    """

    def __init__(
        self, side: Side, endpoint: Endpoint, settings: UplinkSettings, committer: Committer
    ) -> None:
        self.side = side
        self.connected = False
        self.fault: str | None = None
        self.connections = 0
        self._endpoint = endpoint
        self._settings = settings
        self._committer = committer
        self._routes = Routes(settings.routes)
        self._lane = committer.lanes[side]
        self._onward = committer.lanes[side.other]
        self._reception = committer.receptions[side]
        self._choice = SessionChoice(endpoint.client_id)
        self._client: UplinkClient | None = None
        self._subscribing: SubscriptionSync | None = None

    def status(self) -> dict[str, object]:
        """Return the status report's data about this connection."""
        return {
            "connected": self.connected,
            "address": f"{self._endpoint.host}:{self._endpoint.port}",
            "session": self._committer.sessions[self.side],
            "connections": self.connections,
            "fault": self.fault,
            "repeats": self._reception.repeats,
        }

    async def run(self) -> None:
        """Connect, and reconnect whenever the connection is lost."""
        backoff = Backoff(BACKOFF_SECONDS_MAX, first_seconds=BACKOFF_SECONDS_MIN)
        while True:
            # Everything from the last connection must be durable before the next one starts.
            await self._committer.wait_until_durable()
            fault = await self._connect_once(backoff)
            if fault is None:
                continue
            if fault != self.fault:
                logger.warning("no connection to the %s broker: %s", self._name, fault)
                self.fault = fault
            await backoff.wait()

    @property
    def _name(self) -> str:
        return f"{self.side.name.lower()} ({self._endpoint.host}:{self._endpoint.port})"

    # A connection

    async def _connect_once(self, backoff: Backoff) -> str | None:
        """Connect once, and use the connection until it ends.

        Return a sentence about the failure, or None if the connection did not fail.
        """
        session, use = self._choice.choose(self._committer.sessions[self.side])
        client = self._new_client(session, use)
        lost = asyncio.Event()
        known = asyncio.Event()

        def on_connect(_: object, session_present: int, *__: object) -> None:
            if use.accepts(session_present=bool(session_present)):
                known.set()
                self._client = client
                self._committer.add_event(
                    Connected(self.side, client.outlet(self._settings.window), session)
                )

        client.on_connect = on_connect
        client.on_disconnect = lambda *_: lost.set()
        try:
            to = self._endpoint
            target = target_of(to.host, to.port, to.tls, _VERSIONS[to.version])
            await connect(client, lost, **target)
            if not known.is_set():
                return self._give_up(session, use)
            await self._use(client, lost, backoff)
        except (OSError, MQTTConnectError, TimeoutError) as error:
            return client.fault or sentence_of(error, fix=self._endpoint.fix)
        finally:
            self._leave(client)
            await close(client)
        return client.fault or "the connection was lost"

    async def _use(self, client: UplinkClient, lost: asyncio.Event, backoff: Backoff) -> None:
        await self._committer.wait_until_durable()
        self._subscribing = SubscriptionSync(client, client.version, lost, self._name)
        await self._subscribe(self._subscribing)
        backoff.reset()
        self.connected, self.fault = True, None
        self.connections += 1
        logger.info(
            "connected to the %s broker as %s", self._name, self._committer.sessions[self.side]
        )
        if self.connections == 1:
            client.warn_of_short_session(self._endpoint.session_expiry_seconds, self._name)
        self._announce(client, ONLINE)
        while not await _is_set_within(lost, REFUSED_FILTERS_SECONDS):
            await self._subscribe(self._subscribing)

    async def _subscribe(self, subscribing: SubscriptionSync) -> None:
        wanted = self._routes.subscriptions_at(self.side)
        have: dict[str, int] = json.loads(self._committer.subscriptions[self.side])
        if wanted != have:
            now = await subscribing.apply_changes(wanted, have)
            self._committer.add_event(Subscribed(self.side, json.dumps(now)))

    def _leave(self, client: UplinkClient) -> None:
        if self.connected:
            self._announce(client, OFFLINE)
        self.connected, self._client = False, None
        self._committer.add_event(Disconnected(self.side))

    def _give_up(self, session: str, use: SessionUse) -> str | None:
        """Handle a connection that did not get the expected session. Return a fault, or None."""
        if use is SessionUse.CONTINUE:
            self._committer.add_event(SessionLost(self.side))
        return self._choice.give_up(session, use)

    def _new_client(self, session: str, use: SessionUse) -> UplinkClient:
        endpoint = self._endpoint
        deletes = use is SessionUse.DELETE
        properties: dict[str, Any] = {}
        if endpoint.version == 5:
            properties = {
                "session_expiry_interval": 0 if deletes else endpoint.session_expiry_seconds,
                "receive_maximum": self._settings.window,
                "maximum_packet_size": self._settings.packet_bytes_max,
            }
        if endpoint.availability_topic is not None and not deletes:
            will = Will(endpoint.availability_topic, OFFLINE, qos=1, retain=True)
            properties["will_message"] = will
        client = UplinkClient(
            session,
            self._lane,
            self,
            version=endpoint.version,
            packet_bytes_max=self._settings.packet_bytes_max,
            clean_session=deletes,
            **properties,
        )
        client.replay_with(lambda: self._replay(client))
        if endpoint.username is not None:
            client.set_auth_credentials(endpoint.username, endpoint.password)
        return client

    def _replay(self, client: UplinkClient) -> list[tuple[int, bytes]]:
        """Return the packets that gmqtt resends, in order, with PUBRELs first."""
        outlet = client.outlet(self._settings.window)
        exchanges = self._lane.exchanges
        exchanges.window = outlet.window
        exchanges.begin_again()
        now = self._committer.now
        return [
            (each.packet_id, outlet.packet_of(each, now, again=True))
            for each in exchanges.take_unsent()
        ]

    def _announce(self, client: UplinkClient, state: bytes) -> None:
        topic = self._endpoint.availability_topic
        if topic is not None:
            frame = publish_frame(
                topic_field_of(topic), state, 0, True, False, 0, client.version, None
            )
            client.send_packet(frame)

    # Incoming packets

    def receive_suback(self, packet: Suback | Unsuback) -> None:
        """Process a SUBACK or UNSUBACK."""
        if self._subscribing is not None:
            self._subscribing.receive(packet)

    def receive_answer(self, answer: Answered) -> None:
        """Process a PUBACK, PUBREC, PUBREL or PUBCOMP."""
        if self._client is not None:
            self._committer.add_event(answer)
            if self._committer.is_flooded:
                self._end("the broker sends more than it gets answers for")

    def receive_publish(self, publish: Publish) -> None:
        """Forward a message. Drop it if no route matches its topic, or if it would loop.

        If the connection has ended, or the broker does not have the uplink's session, the message
        is ignored and not acknowledged.
        """
        if self._client is None:
            return
        topic = self._routes.topic_from(self.side, publish.topic)
        now = self._committer.now
        message = None
        if topic is None:
            self._onward.counters["unrouted"] += 1
        else:
            message = message_of(publish, topic, self._settings.gateway_id, now)
            if message is None:
                self._onward.counters["looped"] += 1
        if message is None:
            self._answer_dropped(self._client, publish)
        elif message.qos == 0:
            self._onward.forward_qos0(message, now)
        else:
            self._reception.bytes_coming += message.bytes_count
            self._committer.add_event(Arrived(self.side, Arrival(message, publish.packet_id)))
            if self._reception.is_overfull:
                self._end("the queue is full: its messages stay in the broker's session")

    def _end(self, fault: str) -> None:
        """Close the connection because of a fault. `fault` is its description.

        Packets that have already been received are still processed.
        """
        if self._client is not None:
            self._client.fault = fault
            self._client.abort()

    def _answer_dropped(self, client: UplinkClient, publish: Publish) -> None:
        """Acknowledge a message that is dropped.

        The message is not stored. If the broker sends it again, it is dropped again.
        """
        if publish.qos:
            answer = puback if publish.qos == 1 else pubrec
            client.send_packet(answer(publish.packet_id))


async def _is_set_within(event: asyncio.Event, seconds: float) -> bool:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
    return event.is_set()
