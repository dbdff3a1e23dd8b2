"""Retained messages that report whether the bridge, its ports and its devices are available.

The bridge's topic is `<topic>`, a port's `<topic>/<port>`, and a device's
`<topic>/<port>/<device>`. Each payload is `online` or `offline`, as Home Assistant expects. The
messages are sent at QoS 0 and bypass the outbox, because only the latest state matters. All states
are published again whenever a connection begins.
"""

from collections.abc import Callable, Mapping

from gmqtt import Message  # type: ignore[import-untyped]

from gateway.broker.wire.encoder import publish_frame

ONLINE = b"online"
OFFLINE = b"offline"
_REMOVAL = b""
_MQTT_3_1_1 = 4

Send = Callable[[bytes], None]


class Availability:
    """The publisher of the availability of the bridge, its ports and its devices."""

    def __init__(
        self,
        topic: str | None,
        states: Callable[[], Mapping[str, bool]],
        reports: Callable[[], Mapping[str, bytes]] = dict,
    ) -> None:
        """Store the topic, and the functions that return the payloads to publish.

        Args:
            topic: the bridge's topic, above the topics of all ports and devices. If None, only
                `reports` are published.
            states: function that returns whether each port and each device is available. The keys
                are topics relative to `topic`.
            reports: function that returns other retained payloads, keyed by full topic.
        """
        self._topic = topic
        self._states = states
        self._reports = reports
        self._sent: dict[str, bytes | None] = {}
        # The payload last published on each topic, or None if the broker may not have received it.
        self._send: Send | None = None

    def will(self) -> Message | None:
        """Return the will message, or None if no topic is configured.

        The will message has the payload `offline`. The broker publishes it if the connection ends
        without DISCONNECT.
        """
        if self._topic is None:
            return None
        return Message(self._topic, OFFLINE, qos=1, retain=True)

    def begin(self, send: Send) -> None:
        """Publish all payloads over a new connection.

        The broker might have retained outdated payloads while the bridge was not connected. `send`
        sends packets over the new connection.
        """
        self._send = send
        self._sent = dict.fromkeys(self._sent)
        self.update()

    def update(self) -> None:
        """Publish each payload that has changed since it was last published.

        Also remove the retained payloads of former topics: those of ports and devices that are no
        longer configured, and all alarms after the alarms' topic has changed.
        """
        if self._send is None:
            return
        payloads = {**self._payloads_of_states(), **self._reports()}
        for topic, payload in payloads.items():
            self._publish(topic, payload)
        for topic in [each for each in self._sent if each not in payloads]:
            self._publish(topic, _REMOVAL)
            del self._sent[topic]

    def _payloads_of_states(self) -> dict[str, bytes]:
        if self._topic is None:
            return {}
        states = {f"{self._topic}/{name}": state for name, state in self._states().items()}
        return {
            self._topic: ONLINE,
            **{topic: ONLINE if is_there else OFFLINE for topic, is_there in states.items()},
        }

    def end(self) -> None:
        """Publish `offline` for the bridge and for all its ports and devices.

        This must be done before DISCONNECT, because the broker then discards the will message.
        """
        for topic, payload in list(self._sent.items()):
            if payload in (ONLINE, OFFLINE):
                self._publish(topic, OFFLINE)
        self._send = None

    def _publish(self, topic: str, state: bytes) -> None:
        if self._send is None or self._sent.get(topic) == state:
            return
        self._sent[topic] = state
        name = topic.encode()
        length = len(name).to_bytes(2, "big")
        self._send(publish_frame(length + name, state, 0, True, False, 0, _MQTT_3_1_1, None))
