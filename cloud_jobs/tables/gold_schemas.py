"""The columns of the gold tables, which `oncegate gold` computes from the ingested tables.

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
"""One row per start of a gateway's broker, with the first and the last event that have landed.
`time_quality`, here and below, is the worst quality of the row's times: `synchronised`, `corrected`
or `unknown` (see CLOCK_CORRECTIONS)."""

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
"""One row per message that was received at QoS 2. `state` is `held`, `released`, `abandoned` or
`unknown` (the event `message_held` has not landed). `day` is the day of the message's first event;
`day_before` is its value before the row's last batch. `verdict` is the result of the audit, or null
before the first audit."""

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
"""One row per message and session to which it is delivered. `qos` is the granted QoS, 1 or 2. It is
null if the message was dropped before it entered the queue, or if its first event has not landed.
`state` is `waiting`, `in_flight`, `completed`, `dropped` or `discarded`. A delivery is discarded if
its session ends first; `discard_reason` is the reason. `day_before` and `verdict` are the same as
in QOS2_MESSAGES."""

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
"""One row per session. `opened` is the first connect, `connected` and `closed` are the latest
connect and close, and `ended` is the time when the session state was discarded. `state` is
`connected`, `away` or `ended`."""

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
"""One row per gateway and day on which a message or a delivery at QoS 2 began. A message that was
published at QoS 2 and dropped before it entered a queue counts as a delivery."""

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
"""One row per gateway and day. `day` is the corrected day of the segments, as in `events`. Dropped
messages are counted once for each session. Expired messages do not count as dropped."""

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
"""One row per gateway, day, client, topic and reason of `message_dropped`. Only the
DROPS_PER_DAY_MAX most frequent rows of a gateway and day are stored. `topic` is null if the
publication has not landed."""

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
"""One row per quantity of a sensor and quarter of an hour with readings, by corrected times. A
Boolean counts as 0 or 1; a string reading sets only `last_text`. `increase` and `resets` describe
counters: how far the counter rose since the previous reading, and how often it restarted. `missing`
is the number of readings lost before these ones. `repeats` counts readings whose numbers the board
had used before."""

SENSOR_DAYS: Final = schema_of(
    f"""
    string  gateway device name
    {_SERIES.strip()}
    integer device_boot device_sequence
    """
)
"""One row per quantity of a sensor and UTC day, as in SENSOR_QUARTERS. `device_boot` and
`device_sequence` are the numbers of the last reading. The next day compares its first reading with
them to find missing readings."""

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
"""One row per present gap. `day` is the day of the segment after the gap, or null if there is none.
For kind `sensor` (a gap in a sensor's own numbers) the sequences are those of the sensor, `segment`
is null, and `day` is the day of the reading after the gap."""

AUDIT_DAILY: Final = schema_of(
    """
    string  gateway
    date    day
    string  verdict
    integer violations inconclusive batch
    """
)
"""One row per gateway and day: the result of `oncegate audit` for the events of that day."""

CARRIED_EVENTS: Final = schema_of(
    """
    string  gateway store
    integer sequence
    time    time
    string  event
    integer session
    string  client_id
    integer message packet_id
    string  topic
    integer qos matched
    string  origin
    integer position
    string  packet reason filter
    integer protocol
    string  detail segment_name
    integer from_sequence to_sequence batch
    """
)
"""Earlier events that the next audit of a gateway needs, with the columns that the audit reads.
`batch` is the last audited batch. A row with the event `audited` is not an event: it has the number
of the store's last audited event, the greatest number of a message, and in `from_sequence` the
first event of the last batch of records."""

GOLD_RUNS: Final = schema_of(
    """
    integer run from_batch through_batch
    boolean is_done
    time    at
    integer audited_through
    """
)
"""Two rows per run of `oncegate gold`: one when it begins, with the batches to process, and one
when it is done. `audited_through` is the last audited batch, from this run or an earlier one. It is
null in the row of the beginning."""

CLOCK_CORRECTIONS: Final = schema_of(
    """
    string  gateway boot segment_name
    integer from_sequence to_sequence offset_ms
    string  time_quality
    date    day written_day day_before
    integer batch
    """
)
"""One row per segment that was written while the clock was not synchronised, or several if the
clock was set within the segment. `offset_ms` must be added to the times of the row's events. It is
null if not known; `time_quality` is then `unknown`, otherwise `corrected`. `day` is the corrected
UTC day of the segment's first event, `written_day` its day in `events`, and `day_before` the value
of `day` before `batch` changed the row."""

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
    "carried_events": CARRIED_EVENTS,
    "gold_runs": GOLD_RUNS,
}
