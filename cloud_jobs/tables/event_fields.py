"""The fields of an event, as listed in docs/formats/session-log.md.

`cloud_jobs.ingest.event_line` checks lines against the list EVENT_FIELDS, and the Spark schema of
`events` is derived from it. A field that is not in the list is accepted and stored as JSON in the
column `extra`.
"""

from __future__ import annotations

from typing import Final, Literal

FieldType = Literal["integer", "string", "boolean"]

EVENT_FIELDS: Final[dict[str, FieldType]] = {
    "session": "integer",
    "client_id": "string",
    "message": "integer",
    "packet_id": "integer",
    "topic": "string",
    "qos": "integer",
    "retain": "boolean",
    "matched": "integer",
    "origin": "string",
    "position": "integer",
    "packet": "string",
    "reason": "string",
    "payload_bytes": "integer",
    "payload": "string",
    "payload_base64": "string",
    "payload_sha256": "string",
    "clean": "boolean",
    "protocol": "integer",
    "keep_alive_seconds": "integer",
    "session_expiry_seconds": "integer",
    "delay_seconds": "integer",
    "address": "string",
    "filter": "string",
    "version": "string",
    "recovery": "string",
    "previous_boot": "string",
    "limit": "string",
    "detail": "string",
    "step_ms": "integer",
    "from_sequence": "integer",
    "to_sequence": "integer",
    "port": "string",
}
"""Name and type of every field except `sequence`, `time` and `event`, which each event has."""

KNOWN_EVENTS: Final = frozenset(
    {
        "broker_started",
        "broker_stopped",
        "session_opened",
        "session_resumed",
        "session_closed",
        "session_ended",
        "session_expiry_changed",
        "session_owned",
        "subscribed",
        "unsubscribed",
        "message_held",
        "duplicate_suppressed",
        "message_released",
        "message_abandoned",
        "message_published",
        "message_queued",
        "delivery_started",
        "delivery_resent",
        "delivery_received",
        "delivery_completed",
        "message_dropped",
        "retained_set",
        "retained_cleared",
        "will_set",
        "will_cleared",
        "limit_hit",
        "protocol_error",
        "clock_stepped",
        "clock_read",
        "store_damaged",
        "log_truncated",
        "serial_port_found",
        "serial_port_lost",
        "operated",
    }
)
