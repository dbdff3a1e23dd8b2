"""Limits of the Spark job that several modules share, each with its unit and its reason."""

from __future__ import annotations

from datetime import date
from typing import Final

SEGMENT_BYTES_MAX: Final = 8_000_000
"""Uncompressed bytes of a segment: the limit of the file format. A larger segment is treated as a
decompression bomb and is not unpacked."""

SEGMENT_FILE_BYTES_MAX: Final = 8_100_000
"""Bytes of a segment file. Incompressible data grows by 3 bytes per block of 128 KiB. Together with
the headers this is far below the margin of 100 kB. A larger file is refused without being read."""

WINDOW_BYTES_MAX: Final = 16 * 1024 * 1024
"""Memory in bytes that a zstd frame may request: enough for twice the largest segment in one
window."""

LINE_BYTES_MAX: Final = 1024 * 1024
"""Bytes of a line. An MQTT payload that is worth logging is smaller. Only the beginning of a longer
line is kept in `quarantine`."""

SEGMENT_LINES_MAX: Final = SEGMENT_BYTES_MAX // 34
"""Lines of a segment. The shortest event has 34 bytes with its line end, so a segment of
SEGMENT_BYTES_MAX cannot contain more events than this. Without the limit, a file of 511 bytes could
unpack to millions of lines, and each line would cost a parse and a row."""

BAD_LINES_PER_SEGMENT_MAX: Final = 100
"""Malformed lines of a segment that get a row of their own in `quarantine`: enough to see what is
wrong. One more row counts the rest."""

QUARANTINE_ROWS_MAX: Final = 1_000
"""Rows of one kind that a batch adds to `quarantine` for one start of a gateway (and for one
segment, if the segment is known). One more row counts the rest."""

RAW_CHARACTERS_MAX: Final = 16 * 1024
"""Characters of raw text in one row of `quarantine`: enough to see what went wrong. Many broken
lines thus cannot fill the tables faster than valid ones."""

DETAIL_CHARACTERS_MAX: Final = 500
"""Characters of one explanation. It quotes names and values that an attacker may have chosen."""

SEGMENTS_PER_BATCH_MAX: Final = 500
"""Segments in one batch: at most 4 GB of JSON, staged as compressed columns. A crash repeats at
most this much work. The next batch of the same run processes the remaining segments."""

LISTED_MAX: Final = 10_000
"""Files that one listing returns. If more files are waiting, the next listing returns them. A run
with many batches lists the source once in twenty batches, and the driver stores 2 MB of paths."""

REFUSED_READ_MAX: Final = 100
"""Refused files that are read to decide whether a run has nothing to ingest: at most 0.8 GB, which
takes about as long as starting a JVM. If there are more files, Spark reads them."""

SMALL_BATCH_BYTES_MAX: Final = 500_000
"""Compressed bytes of the files of a batch for which Spark plans with the least effort. This is
some ten thousand events: slower plans finish before the code of faster plans is generated."""

SHORT_RUN_BYTES_MAX: Final = 10_000_000
"""Compressed bytes of the files of a run that does not need the JVM's second compiler: 1.5 million
events. Compiling Spark takes 13 processor seconds and then saves 4 for each 500,000 events."""

EVENTS_SMALL_MAX: Final = 500_000
"""Events that a run of `gold` audits, up to which Spark plans it with the least effort. A run with
few new events then takes two thirds of the processor time: most of it is spent on planning."""

CARRIED_FROM_EVENTS: Final = 100_000
"""Events of a run's gateways in the tables from which `gold` continues their audits. With fewer,
auditing all of them takes less time than writing the events that the next audit needs."""

GATEWAYS_PER_RUN_MAX: Final = 1_000
"""Gateways that a run of `gold` names in its queries. A name has some 20 bytes. If more gateways
have something new, the run reads and updates the rows of all gateways."""

EVENTS_SHORT_RUN_MAX: Final = 200_000
"""Events that a run of `gold` reads, up to which its JVM uses only the first compiler. With more,
loops over rows run long enough for the second one."""

PYTHON_BATCH_BYTES_MAX: Final = 4_000_000
"""Bytes of rows passed to a Python worker together, including the row that exceeds the limit. The
worker needs the memory of a few segments, and a batch of many small ones costs one exchange."""

PACK_CHARACTERS_MAX: Final = SEGMENT_BYTES_MAX
"""Characters of the names, units and topics in the records of one SenML pack. The base name and the
topic are repeated in each record, so a line of 1 MB could otherwise become gigabytes of rows."""

CHARACTERS_TOGETHER_MAX: Final = 16 * PACK_CHARACTERS_MAX
"""Characters (128 million) of topics, names and units of SenML records that are built together. If
there are more, the SenML packs are read one by one."""

PACK_BYTES_MAX: Final = 64 * 1024
"""Bytes of a payload that is parsed together with others; a reading has some hundred bytes. A
larger payload is parsed alone."""

PACKS_TOGETHER_MAX: Final = 16_384
"""Payloads that are joined and parsed as one string of at most 1 GiB. Arrow counts the bytes of a
string in 32 bits."""

BOARDS_COMPARED_MAX: Final = 10_000
"""Boards of a batch whose numbers are compared with the stored ones board by board. Each board is
one row of a query; 10,000 rows take half a second. If there are more boards, all numbers of their
gateways are compared."""

OUTLINE_RANGES_MAX: Final = 2_000
"""Ranges of consecutive numbers in the outline (the JSON summary) of a staged file. An honest file
has a few ranges for each board."""

OUTLINE_CHARACTERS_MAX: Final = 256 * 1024
"""Characters of the outline (the JSON summary) of a staged file. The driver holds the outlines of a
batch, at most 128 MB. A file with a larger outline gets none, and its events are read again from
the table."""

SINGLE_EVENTS_PER_BATCH_MAX: Final = 20_000
"""Messages of a batch that the driver pairs because their receipt and release are in different
files. A file covers minutes, so only messages in progress when it was sealed are split. If there
are more, a join pairs them."""

KEY_RANGES_MAX: Final = 64
"""Ranges of keys in one filter, with which Delta skips files. More ranges would make the filter
cost more than it saves."""

GAPS_SHOWN_MAX: Final = 200
"""Gaps listed in a report; the report counts all of them."""

BOARDS_SHOWN_MAX: Final = 200
"""Boards listed in a report because they reused sequence numbers after a restart."""

GATEWAYS_SHOWN_MAX: Final = 200
"""Gateways listed in a report; the report counts all of them."""

SEGMENTS_HELD_MAX: Final = 100_000
"""Segments of all batches up to which the driver holds their rows in memory during a run: some 100
MB. If there are more, Spark executes each query."""

QUERIES_AT_A_TIME_MAX: Final = 3
"""Commits of a batch, or queries of a report, that run concurrently. They concern different tables,
and one is planned while another waits for its tasks. Each of them needs memory of the driver."""

TASK_TRIES_MAX: Final = 4
"""Attempts of a task on one machine: as many as on a cluster. Spark's default on one machine is
one."""

OPEN_FILES_PER_TASK_MAX: Final = 8
"""Files of different days that one task writes concurrently. Without this setting the rows of a
task are sorted by day first, although they arrive file by file. Only the rows of further days are
sorted."""

GATEWAYS_NAMED_MAX: Final = 1_000
"""Gateways whose keys are queried by name. If there are more gateways, all keys are read, one row
each."""

SIGNERS_SHOWN_MAX: Final = 10_000
"""Pairs of gateway and key listed in an audit."""

KEYS_FILE_BYTES_MAX: Final = 16 * 1024 * 1024
"""Bytes of the file of `--keys`: enough for 100,000 gateways with a name each."""

KEYS_PER_GATEWAY_MAX: Final = 16
"""Keys that a gateway has at the same time: its present key, and the keys of segments in
transit."""

TIME_MILLISECONDS_MAX: Final = 253_402_300_799_999
"""The end of the year 9999, in milliseconds since 1970-01-01 UTC: the latest time that timestamps
of Spark and of most other programs can represent."""

DAY_MIN: Final = date(2020, 1, 1)
"""The first day that is used as a partition. No gateway is older, and a clock without a battery
shows 1970. The last such day is the day after the ingestion of a segment."""

CLOCK_CHECK_MILLISECONDS: Final = 5_000
"""Milliseconds after a step of the clock within which the gateway has recorded the step. It checks
its clock once a second; the other seconds are a margin for a busy gateway."""

CONFLICT_RETRIES_MAX: Final = 3
"""Attempts for a step if another writer commits at the same time. A second run of the job conflicts
at most once per step. More conflicts mean that another program writes to the tables."""

COMMITS_EXAMINED_MAX: Final = 100
"""Latest commits of a table among which the commit of a batch is searched. Each batch makes one
commit. The others may be made by an operator's programs between a failed run and the next one."""

COMMITS_PER_CHECKPOINT: Final = 30
"""Commits of a table after which Delta writes a checkpoint of its state. A checkpoint takes about a
processor second for each table. Without one, a new process reads up to this many small files."""

AUDIT_EXCEPTIONS_MAX: Final = 10_000
"""Exceptions listed in an audit, violations first; the audit counts all of them."""

VALUES_MAX: Final = 20_000
"""Rows (of some 300 bytes) that the driver holds in memory because many queries read them:
segments, gaps and findings of an audit, and days that are computed again. If there are more, Spark
computes them for each query."""

VALUES_BYTES_MAX: Final = 32_000_000
"""Bytes of the rows that the driver holds in memory for one DataFrame: Spark sends them to the
tasks of each query, and long topics make rows large."""

OFFLINE_DAYS_MAX: Final = 366
"""Days between two starts of a gateway that count as offline. A longer time means that the clock
was set, and would result in a row for each day since 1970."""

DROPS_PER_DAY_MAX: Final = 100
"""Rows of `drops` for a gateway and day: a client can invent any number of topics."""

SENSOR_CLOCK_DAYS_MAX: Final = 366
"""Days between a reading's own time and its delivery. A gateway stores undelivered readings for
months. A sensor clock that differs by more was never set."""

TEXT_CHARACTERS_MAX: Final = 200
"""Characters of a string reading in `sensor_quarters` and `sensor_days`, which store the last
reading."""

PERCENTILE_ACCURACY: Final = 1_000
"""Accuracy of approximate percentiles: their rank differs by at most a thousandth of the values."""

COMPACT_FILE_BYTES: Final = 64 * 1024 * 1024
"""Bytes below which a file counts as small: reading it costs about as much as a file of this
size."""

COMPACT_FILES_MIN: Final = 8
"""Small files from which on a partition is compacted. With fewer files the rewrite costs more than
it saves."""

GAPS_LISTED_MAX: Final = 10_000
"""Gaps that `oncegate gaps` prints, the largest first; all of them are counted."""
