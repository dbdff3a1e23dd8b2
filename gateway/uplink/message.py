"""A message in the uplink: the stored parts of a PUBLISH, and the PUBLISH created from them.

This module does no I/O. Times are in seconds, measured by the uplink's own clock, which stops while
the uplink is not running (`committer.py`). Thus a message does not expire while a gateway is
switched off.
"""

import math
from dataclasses import dataclass
from typing import Final

from gateway.broker.wire.encoder import raw_publish_frame
from gateway.broker.wire.message_properties import (
    EXPIRY_SECONDS_MAX,
    NEVER,
    forwarded_of,
    properties_field_of,
)
from gateway.broker.wire.packets import Properties, Publish, topic_field_of
from gateway.uplink.hops import hops_of, may_pass, with_hop

ROW_OVERHEAD_BYTES: Final = 64
"""Size of a row without topic, payload and properties, for the size limit of the queue."""

MQTT_5: Final = 5


@dataclass(frozen=True, slots=True)
class Message:
    """A message to forward.

    `properties` contains the message's encoded MQTT properties, without the length field.
    """

    topic: str
    payload: bytes
    qos: int
    retain: bool
    properties: bytes
    expires_at: float | None

    @property
    def bytes_count(self) -> int:
        """Size of the message in bytes, which counts towards the limit `queue_max`."""
        return len(self.topic) + len(self.payload) + len(self.properties) + ROW_OVERHEAD_BYTES

    def frame(self, packet_id: int, version: int, now: float, *, again: bool) -> bytes:
        """Return the message as a PUBLISH packet.

        `packet_id` is 0 at QoS 0. The argument `again` is True if the broker might already have
        received this packet.
        """
        field = b""
        if version == MQTT_5:
            field = properties_field_of(self._expiry_at(now), self.properties, [], 0)
        return raw_publish_frame(
            topic_field_of(self.topic), self.payload, self.qos, self.retain, again, packet_id, field
        )

    def has_expired(self, now: float) -> bool:
        """Return True if the message has expired at the time `now`."""
        return self.expires_at is not None and self.expires_at <= now

    def _expiry_at(self, now: float) -> int:
        if self.expires_at is None:
            return NEVER
        # [MQTT5-3.3.2-6] minus the time in the queue. An exchange that has started is completed.
        return max(1, min(EXPIRY_SECONDS_MAX, math.ceil(self.expires_at - now)))


def message_of(publish: Publish, topic: str, gateway_id: str, now: float) -> Message | None:
    """Return the message to forward to `topic`, created from a PUBLISH.

    Return None if the message must not be forwarded, because it would loop.
    """
    given = publish.properties or Properties()
    own = Properties()
    own.payload_format_indicator = given.payload_format_indicator
    own.content_type = given.content_type
    own.response_topic = given.response_topic
    own.correlation_data = given.correlation_data
    user_properties = given.user_properties or []
    if not may_pass(hops_of(user_properties), gateway_id):
        return None
    own.user_properties = with_hop(user_properties, gateway_id)
    expiry_seconds = given.message_expiry_interval_seconds
    return Message(
        topic,
        publish.payload,
        publish.qos,
        publish.retain,
        forwarded_of(own),
        None if expiry_seconds is None else now + expiry_seconds,
    )
