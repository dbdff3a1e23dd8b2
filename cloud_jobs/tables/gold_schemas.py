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
    string  time_quality
    """
)
"""One row a start of a gateway's broker, with its first and last event that have landed.
`time_quality`, here and below: the worst of the row's times (`synchronised`, `corrected`,
`unknown`; CLOCK_CORRECTIONS)."""

QOS2_MESSAGES: Final = schema_of(
    """
    string  gateway store
    integer message batch
    date    day
    string  state boot client_id topic
    integer session packet_id payload_bytes duplicates matched
    integer held_sequence released_sequence abandoned_sequence
    time    held released abandoned
    date    day_before
    string  verdict time_quality
    """
)
"""One row a message that was received at QoS 2. `state` is `held`, `released`, `abandoned` or
`unknown` (its `message_held` has not landed); `day` that of its first event, `day_before` what it
was before the row's last batch; `verdict` the audit's (null: not audited yet)."""

QOS2_DELIVERIES: Final = schema_of(
    """
    string  gateway store
    integer session message batch
    date    day
    string  state client_id
    integer qos position resent
    time    queued started received completed dropped
    string  drop_reason
    integer first_sequence last_sequence
    date    day_before
    string  verdict time_quality
    time    discarded
    string  discard_reason
    """
)
"""One row a message on its way to a session. `qos` is the granted one, 1 or 2; null where the
message was dropped before it entered the queue, or while its first event has not landed. `state` is
`waiting`, `in_flight`, `completed`, `dropped`, or `discarded`: its session ended first, for
`discard_reason`. `day_before` and `verdict` as in QOS2_MESSAGES."""

SESSIONS: Final = schema_of(
    """
    string  gateway store
    integer session batch
    string  state client_id
    boolean clean
    integer protocol keep_alive_seconds
    string  address
    time    opened connected closed
    string  close_reason
    time    ended
    string  end_reason
    integer connect_sequence close_sequence end_sequence
    integer first_sequence last_sequence
    integer events connects disconnects subscribes messages_held messages_released
    integer messages_published duplicates_suppressed messages_queued deliveries_started
    integer deliveries_resent deliveries_completed messages_dropped
    string  time_quality
    """
)
"""One row a session. `opened` is its first connect, `connected` and `closed` the latest ones,
`ended` when its state was discarded; `state` is `connected`, `away` or `ended`."""

QOS2_DAILY: Final = schema_of(
    """
    string  gateway
    date    day
    integer messages released abandoned held duplicates
    integer hold_p50_ms hold_p99_ms hold_max_ms
    integer deliveries completed dropped unfinished resent
    integer delivery_p50_ms delivery_p99_ms delivery_max_ms
    integer batch discarded
    """
)
"""One row a gateway and day on which a message or a delivery at QoS 2 began. A message that was
published at QoS 2 and dropped before it entered a queue is a delivery as well."""

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
    string  time_quality
    integer messages_dropped messages_expired
    """
)
"""One row a gateway and day. `day` is that of its segments (as in `events`, corrected). Messages
that were dropped are counted for each session; those that expired are not among them."""

DROPS: Final = schema_of(
    """
    string  gateway
    date    day
    string  client_id topic reason
    integer messages
    time    last_time
    integer batch
    """
)
"""One row a gateway, day, client, topic and reason of `message_dropped`, for the DROPS_PER_DAY_MAX
most frequent of a gateway and day. `topic` is null where the publication has not landed."""

_SERIES: Final = """
    string  unit
    integer readings
    double  first last minimum mean maximum
    string  last_text
    time    first_time last_time
    integer missing repeats
    double  increase
    integer resets
    string  time_quality
    date    day
    integer batch
"""
SENSOR_QUARTERS: Final = schema_of(
    f"""
    string  gateway device name
    time    begin
    {_SERIES.strip()}
    """
)
"""One row a quantity of a sensor and quarter of an hour with readings, at the corrected times of
READINGS. A boolean counts as 0 or 1; a text has `last_text` alone. `increase` and `resets` are of
counters: how far one rose since the reading before, and how often it began again. `missing` numbers
of the sensor come before these readings; `repeats` are readings under numbers that its board had
given before."""

SENSOR_DAYS: Final = schema_of(
    f"""
    string  gateway device name
    {_SERIES.strip()}
    integer device_boot device_sequence
    """
)
"""One row a quantity of a sensor and UTC day, as in SENSOR_QUARTERS. `device_boot` and
`device_sequence` are the numbers of its last reading, by which the next day finds what is missing
between them."""

GAPS: Final = schema_of(
    """
    string  gateway kind
    integer segment from_sequence to_sequence missing
    string  detail
    date    day
    string  device
    integer device_boot
    """
)
"""One row per present gap; `day` is that of the segment after it, null if there is none. Of
kind `sensor` (numbers of a sensor's own), the sequences are the sensor's, `segment` is null and
`day` that of the reading after the gap."""

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
    integer audited_through
    """
)
"""Two rows a run of `oncegate gold`: which batches it takes, and that it has taken them.
`audited_through` is the last batch that the verdicts cover, null where the run did not audit."""

CLOCK_CORRECTIONS: Final = schema_of(
    """
    string  gateway boot segment_name
    integer from_sequence to_sequence offset_ms
    string  time_quality
    date    day written_day day_before
    integer batch
    """
)
"""One row a segment that was written by a clock that was not synchronised; more where the clock was
set within it. `offset_ms` has to be added to the times of these events, null: not known
(`time_quality` is `unknown`, else `corrected`). `day` is the UTC day of the segment's first event
then, `written_day` that in `events`, `day_before` the one before `batch` changed the row."""

GOLD_TABLES: Final[dict[str, StructType]] = {
    "clock_corrections": CLOCK_CORRECTIONS,
    "boots": BOOTS,
    "sessions": SESSIONS,
    "qos2_messages": QOS2_MESSAGES,
    "qos2_deliveries": QOS2_DELIVERIES,
    "qos2_daily": QOS2_DAILY,
    "gateway_health": GATEWAY_HEALTH,
    "drops": DROPS,
    "sensor_quarters": SENSOR_QUARTERS,
    "sensor_days": SENSOR_DAYS,
    "gaps": GAPS,
    "audit_daily": AUDIT_DAILY,
    "gold_runs": GOLD_RUNS,
}
