"""Columns of the ingested tables: name, type and meaning, in the order in which they are stored.

Every transformation ends by selecting the columns of one of these tables. If a column is missing,
occurs twice or has the wrong type, the error occurs where the column is created, not where it is
read. Keys come first, because Delta stores the minimum and maximum of the first 32 columns of each
file. Queries use these values to skip files.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    BooleanType,
    DataType,
    DateType,
    DoubleType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from cloud_jobs.tables.event_fields import EVENT_FIELDS

_TYPES: Final[dict[str, DataType]] = {
    "integer": LongType(),
    "string": StringType(),
    "boolean": BooleanType(),
    "double": DoubleType(),
    "time": TimestampType(),
    "date": DateType(),
}


def schema_of(columns: str) -> StructType:
    """Parse a schema from lines of the form `type name name ...`."""
    fields = []
    for line in columns.strip().splitlines():
        type_name, *names = line.split()
        fields += [StructField(name, _TYPES[type_name]) for name in names]
    return StructType(fields)


SEGMENT_PART: Final = schema_of(
    """
    string  name
    integer file_bytes
    string  file_sha256
    integer uncompressed_bytes
    string  gateway boot store
    integer segment first_sequence last_sequence
    string  clock previous_sha256
    integer lines bad_lines
    string  folder public_key
    """
)
MALFORMED: Final = schema_of(
    """
    integer line sequence
    string  reason detail raw
    integer refused
    """
)
"""A malformed line of a trusted segment, or one row that represents `refused` such lines."""

STAGED: Final = StructType(
    [
        *schema_of("string path").fields,
        *SEGMENT_PART.fields,
        *schema_of(
            """
            string  reason detail
            integer began
            """
        ).fields,
        StructField("fields", ArrayType(StringType())),
        StructField("malformed", ArrayType(MALFORMED)),
        StructField("events", BinaryType()),
        StructField("records", BinaryType()),
        StructField("outline", StringType()),
    ]
)
"""The temporary table of a batch, with one row per file. `began` is the earliest time of its events
in milliseconds. `fields` names the columns that are not null in all of its events. `events`
contains the valid lines as an Arrow stream, and `records` the SenML records of its messages, also
as an Arrow stream. `outline` is JSON (cloud_jobs.ingest.outline). All are null if the file is not
trusted."""

SEGMENTS: Final = schema_of(
    """
    string  name state reason detail gateway boot
    integer segment first_sequence last_sequence
    string  file_sha256 previous_sha256 store clock path
    integer file_bytes uncompressed_bytes lines bad_lines batch
    time    verified_at
    string  folder public_key
    """
)
"""One row per file name. `state` is `ingested`, `duplicate` or `quarantined`. `reason` explains why
a file is in quarantine; it is examined again when its bytes or its gateway's keys change. `folder`
is the location of the file below the source. `public_key` is the key that signed the file, or null
if no key did."""

QUARANTINE: Final = schema_of(
    """
    integer batch
    string  kind reason detail segment_name gateway boot
    integer sequence line
    string  raw file_sha256
    integer file_bytes refused
    """
)
"""Refused data, with the reason. `kind` is `segment`, `line`, `event` (same identity, other
contents), `payload` (a delivered message that is not SenML JSON, or whose topic does not match its
reading) or `reading` (same identity, other value). Rows of kind `event`, `payload` and `reading`
identify the event by gateway, boot and sequence. `refused` is the number of refusals that a row
represents. It is 1 unless `reason` is `more`. In rows with this reason, `sequence` is the last
refusal and `detail` lists them all."""

EVENTS: Final = StructType(
    [
        *schema_of(
            """
            string  gateway boot
            integer sequence
            string  event
            time    time
            string  store
            integer batch
            """
        ).fields,
        *(StructField(name, _TYPES[kind]) for name, kind in EVENT_FIELDS.items()),
        *schema_of(
            """
            string  extra clock segment_name
            integer segment line
            date    day
            """
        ).fields,
    ]
)
"""One row per event. `day` is the partition: the UTC day of the first event in the segment. A
segment thus writes to one partition, whatever times a broken clock wrote into its lines."""

READINGS: Final = schema_of(
    """
    string  gateway identity
    integer batch
    string  device
    integer device_boot device_sequence
    string  name
    time    time
    double  value
    string  string_value
    boolean boolean_value
    string  data_value
    double  sum
    string  unit topic quantity store
    integer message position
    string  boot
    integer sequence
    time    delivered_at
    date    day
    string  clock
    integer board_start
    """
)
"""One row per SenML record of a delivered message. (gateway, boot, sequence) is the event that
delivered it. `identity` is the value used to deduplicate records within a gateway. `clock` is the
quality of the gateway's time (`synchronised`, `unsynchronised`, `unknown`). `delivered_at` uses
this clock, as does `time` if the sensor has no clock. `board_start` is set if a board used the
numbers of an earlier start again (flashed or replaced). It counts from 1, and `device_boot` is then
the board's own number plus 2^32 * `board_start`."""

DELIVERED: Final = schema_of(
    """
    string  gateway store
    integer message
    string  topic payload payload_base64 client_id boot
    integer sequence
    time    time
    string  clock
    date    day
    """
)
"""A message whose delivery a batch completed: its contents, and the event that delivered it."""

RECORDS: Final = StructType(
    [
        *DELIVERED.fields,
        *schema_of(
            """
            integer position
            string  senml_device
            integer senml_boot senml_sequence
            string  name unit
            double  seconds value
            string  senml_vs
            boolean senml_vb
            string  senml_vd
            double  sum
            string  wrong
            boolean is_elsewhere
            """
        ).fields,
    ]
)
"""A SenML record of a delivered message, with base fields resolved. `wrong` is the rule that its
payload violates; such a payload is refused as a whole."""

BATCHES: Final = schema_of(
    """
    integer batch segments_ingested segments_quarantined segments_duplicate events_new
    integer events_duplicate quarantined readings_new readings_duplicate
    time    finished_at
    """
)
"""One row per finished batch, written as its last step. A batch that is staged but missing here is
finished by the next run."""

GATEWAY_KEYS: Final = schema_of(
    """
    string  gateway public_key source
    boolean is_withdrawn
    string  prefix
    integer segment first_sequence
    string  segment_name
    integer batch
    time    added_at
    """
)
"""One row per key of a gateway. `source` is `first_use` (the key of the gateway's first signed
segment, identified by `segment`, `first_sequence` and `segment_name`) or `pinned` (from the file of
`--keys`). `is_withdrawn` means that the key is no longer in the file, and its segments are refused.
`prefix` is the folder below the source in which the gateway's segments must be, or null for any."""

INDEXED_COLUMNS: Final = {
    "events": ("gateway", "sequence", "time", "batch", "message"),
    "sensor_readings": ("gateway", "batch", "device_boot", "device_sequence", "time", "message",
                        "sequence", "board_start"),
    "segments": ("name", "state", "gateway", "boot", "first_sequence", "last_sequence",
                 "file_sha256", "batch"),
    "quarantine": ("batch", "kind", "segment_name", "gateway"),
    "batches": ("batch",),
    "gateway_keys": ("gateway", "batch"),
    **dict.fromkeys(
        ("boots", "sessions", "qos2_messages", "qos2_deliveries", "qos2_daily", "gateway_health",
         "clock_corrections"),
        ("gateway", "batch"),
    ),
    **dict.fromkeys(("sensor_quarters", "sensor_days"), ("gateway", "device", "batch")),
    **dict.fromkeys(("drops", "gaps", "audit_daily"), ("gateway", "day")),
    "carried_events": ("gateway", "batch"),
    "gold_runs": ("run",),
}  # fmt: skip
"""Columns whose minimum and maximum Delta stores for each data file, so that queries skip files.
Statistics slow down writes, those of strings most. In the two large tables `gateway` is the only
string with statistics."""

PARTITIONS: Final[dict[str, tuple[str, ...]]] = dict.fromkeys(
    ("events", "sensor_readings", "qos2_daily", "gateway_health", "sensor_quarters", "sensor_days"),
    ("day",),
)

TABLES: Final[dict[str, StructType]] = {
    "segments": SEGMENTS,
    "events": EVENTS,
    "sensor_readings": READINGS,
    "quarantine": QUARANTINE,
    "batches": BATCHES,
    "gateway_keys": GATEWAY_KEYS,
}
