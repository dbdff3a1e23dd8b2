"""The tables' columns: name, type and meaning, in the order of the tables.

Every transform ends in a `select` of one of these lists, so that a column that is missing,
doubled or of another type fails where it is made and not where it is read. Keys come first:
Delta keeps the least and greatest value of a file's first 32 columns, and skips files by them.
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
    """Make a schema from lines of `type name name ...`."""
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
"""A malformed line of a trusted segment, or the one row that stands for `refused` of them."""

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
        StructField("malformed", ArrayType(MALFORMED)),
        StructField("events", BinaryType()),
        StructField("records", BinaryType()),
        StructField("outline", StringType()),
    ]
)
"""A batch's own table: one row a file. `began` is the least time of its events in milliseconds,
`events` its good lines as an Arrow stream, `records` the SenML records of its messages, likewise,
`outline` JSON (cloud_jobs.ingest.outline); null where the file is not trusted."""

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
"""One row a file name. `state` is `ingested`,
`quarantined` (see `reason`; examined again when its bytes or its gateway's keys change) or
`duplicate`. `folder` is where the file lies below the source,
`public_key` the key that signed it, null where none did."""

QUARANTINE: Final = schema_of(
    """
    integer batch
    string  kind reason detail segment_name gateway boot
    integer sequence line
    string  raw file_sha256
    integer file_bytes refused
    """
)
"""Refused data, with the reason. `kind` is `segment`, `line`, `event` (the same identity with
other contents), `payload` (a delivered message that is no SenML JSON, or whose topic is not its
reading's) or `reading` (the same identity with another value). Rows of `event`, `payload` and
`reading` name the event by gateway, boot, sequence. `refused` is how many refusals a row
counts: 1, or more where `reason` is `more`; `sequence` is then the last of them, `detail` names
them."""

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
"""One row an event. `day` partitions: the UTC day of the first event of its segment, so that one
segment makes one partition whatever times a broken clock wrote into its lines."""

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
"""One row a SenML record of a delivered message. (gateway, boot, sequence) is the event that
delivered it; `identity` is what it was deduplicated on, within its gateway. `clock` is how good the
gateway's time was then (`synchronised`, `unsynchronised`, `unknown`): `delivered_at` is by that
clock, and so is `time` where the sensor has none of its own. `board_start` is n, from 1, where a
board gave the numbers of an earlier start again (flashed again, or replaced): `device_boot` is then
the board's own number plus 2^32 * n."""

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
"""A SenML record of a delivered message, base fields resolved; `wrong` is the rule that its payload
broke, which is then refused as a whole."""

BATCHES: Final = schema_of(
    """
    integer batch segments_ingested segments_quarantined segments_duplicate events_new
    integer events_duplicate quarantined readings_new readings_duplicate
    time    finished_at
    """
)
"""One row a finished batch: its last step. A batch that is staged and not here is finished
first."""

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
"""One row a key of a gateway. `source` is `first_use` (the key of its first signed segment, which
`segment`, `first_sequence` and `segment_name` name) or `pinned` (from the file of `--keys`).
`is_withdrawn`: it is not in that file any more, and its segments are refused. `prefix` is the
folder below the source in which the gateway's segments have to lie, null: any."""

INDEXED_COLUMNS: Final = {
    "events": ("gateway", "boot", "sequence", "time", "batch", "message", "segment_name"),
    "sensor_readings": ("gateway", "batch", "device_boot", "device_sequence", "time", "message",
                        "boot", "sequence", "board_start"),
    "segments": ("name", "state", "gateway", "boot", "first_sequence", "last_sequence",
                 "file_sha256", "batch"),
    "quarantine": ("batch", "kind", "segment_name", "gateway"),
    "batches": ("batch",),
    "gateway_keys": ("gateway", "batch"),
}  # fmt: skip
"""Columns of the tables whose least and greatest values Delta stores for each data file, so
that queries skip files. Those of all columns would slow writes down."""

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
