"""The columns of the tables that `oncegate gold` makes of the ingested ones.

Days are UTC days. `batch` is the last ingested batch that changed a row. docs/formats/tables.md
explains each column.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql.types import StructType

from cloud_jobs.tables.schemas import schema_of

BOOTS: Final = schema_of(
    """
    string  gateway boot
    integer batch
    string  store version recovery clock
    integer first_sequence last_sequence events
    time    first_time last_time
    """
)
"""One row a start of a gateway's broker, with its first and last event that have landed."""

QOS2_MESSAGES: Final = schema_of(
    """
    string  gateway store
    integer message batch
    date    day
    string  state boot client_id topic
    integer session packet_id payload_bytes duplicates matched
    integer held_sequence released_sequence abandoned_sequence
    time    held released abandoned
    """
)
"""One row a message that was received at QoS 2. `state` is `held`, `released`, `abandoned` or
`unknown` (its `message_held` has not landed); `day` that of its first event."""

QOS2_DELIVERIES: Final = schema_of(
    """
    string  gateway store
    integer session message batch
    date    day
    string  state client_id
    integer qos position resent
    time    queued started received completed dropped
    string  drop_reason
    """
)
"""One row a message on its way to a session. `qos` is the granted one, 1 or 2, null while the
start of the delivery has not landed; `state` is `waiting`, `in_flight`, `completed`, `dropped`."""

QOS2_DAILY: Final = schema_of(
    """
    string  gateway
    date    day
    integer messages released abandoned held duplicates
    integer hold_p50_ms hold_p99_ms hold_max_ms
    integer deliveries completed dropped unfinished resent
    integer delivery_p50_ms delivery_p99_ms delivery_max_ms
    integer batch
    """
)
"""One row a gateway and day on which a message or a delivery at QoS 2 began."""

GATEWAY_HEALTH: Final = schema_of(
    """
    string  gateway
    date    day
    integer events segments starts unclean_starts
    integer sessions_opened sessions_resumed sessions_closed sessions_lost clients
    integer protocol_errors limits_hit clock_steps damages truncations ports_lost
    double  offline_seconds lag_p50_seconds lag_max_seconds
    time    first_time last_time
    integer batch
    """
)
"""One row a gateway and day. `day` is that of its segments (as in `events`)."""

GAPS: Final = schema_of(
    """
    string  gateway kind
    integer segment from_sequence to_sequence missing
    string  detail
    date    day
    """
)
"""One row a gap that stands now; `day` is that of the segment behind it, null where none is."""

AUDIT_DAILY: Final = schema_of(
    """
    string  gateway
    date    day
    string  verdict
    integer violations inconclusive batch
    """
)
"""One row a gateway and day: what `oncegate audit` finds at the events of that day."""

GOLD_RUNS: Final = schema_of(
    """
    integer run from_batch through_batch
    boolean is_done
    time    at
    """
)
"""Two rows a run of `oncegate gold`: which batches it takes, and that it has taken them."""

GOLD_TABLES: Final[dict[str, StructType]] = {
    "boots": BOOTS,
    "qos2_messages": QOS2_MESSAGES,
    "qos2_deliveries": QOS2_DELIVERIES,
    "qos2_daily": QOS2_DAILY,
    "gateway_health": GATEWAY_HEALTH,
    "gaps": GAPS,
    "audit_daily": AUDIT_DAILY,
    "gold_runs": GOLD_RUNS,
}
