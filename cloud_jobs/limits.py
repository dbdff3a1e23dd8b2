"""Limits of the Spark job that several modules share, each with its unit and its reason."""

from __future__ import annotations

from datetime import date
from typing import Final

SEGMENT_BYTES_MAX: Final = 8_000_000
"""Uncompressed bytes of a segment. The contract's own limit; more is a bomb, and is not
unpacked."""

SEGMENT_FILE_BYTES_MAX: Final = 8_100_000
"""Bytes of a segment file. What cannot be compressed grows by 3 bytes a block of 128 KiB; with
headers that is far below this margin of 100 kB. A larger file is refused without being read."""

WINDOW_BYTES_MAX: Final = 16 * 1024 * 1024
"""Memory that a zstd frame may ask for. Enough for twice the largest segment in one window."""

LINE_BYTES_MAX: Final = 1024 * 1024
"""Bytes of a line. An MQTT payload that is worth logging is smaller; what is longer is kept in
quarantine by its beginning only."""

SEGMENT_LINES_MAX: Final = SEGMENT_BYTES_MAX // 34
"""Lines of a segment. The shortest event with its line end has 34 bytes, so that more lines than
this in SEGMENT_BYTES_MAX are no events: 511 bytes unpack to millions of lines, each of which would
cost a parse and a row."""

BAD_LINES_PER_SEGMENT_MAX: Final = 100
"""Malformed lines of a segment that `quarantine` keeps one by one: enough to see what is wrong. One
more row counts the rest."""

QUARANTINE_ROWS_MAX: Final = 1_000
"""Rows of one kind that a batch adds to `quarantine` for one start of a gateway (and one segment,
where it is known). One more row counts the rest."""

RAW_CHARACTERS_MAX: Final = 16 * 1024
"""Characters of raw text kept in one row of `quarantine`: enough to see what went wrong, and a
flood of broken lines cannot fill the tables faster than good ones."""

DETAIL_CHARACTERS_MAX: Final = 500
"""Characters of one explanation. Hostile names and values are quoted in it."""

SEGMENTS_PER_BATCH_MAX: Final = 500
"""Segments in one batch: at most 4 GB of JSON, staged as compressed columns, and at most this much
work is repeated after a crash. The next batch of the same run takes the rest."""

LISTED_MAX: Final = 10_000
"""Files that a listing returns; where more wait they are listed again after these: a run with
many batches lists once in twenty, and the driver keeps two megabytes of paths."""

REFUSED_READ_MAX: Final = 100
"""Refused files that are read to decide whether a run has nothing to ingest, at most: 0.8 GB, which
takes about as long as the start of a JVM. With more of them Spark reads them."""

SMALL_BATCH_BYTES_MAX: Final = 500_000
"""Bytes of files (compressed) of a batch for which Spark prepares as little as it can: some ten
thousands of events, through which slower plans are before code for faster ones is generated."""

SHORT_RUN_BYTES_MAX: Final = 10_000_000
"""Bytes of files (compressed) of a run that needs no second compiler: 1.5 million events. It takes
13 processor seconds to compile Spark, and saves 4 for each 500,000 events after that."""

EVENTS_SMALL_MAX: Final = 200_000
"""Events in the tables up to which Spark prepares as little as it can for `gold`, which reads them
several times: some seconds each time."""

PYTHON_BATCH_BYTES_MAX: Final = 4_000_000
"""Bytes of rows handed to a Python worker together, the one that exceeds them included: its memory
is that of few segments, and a batch of many small ones costs one exchange."""

PACK_CHARACTERS_MAX: Final = SEGMENT_BYTES_MAX
"""Characters of the names, units and topics of a pack's records. A base name and the topic are
repeated in each of them, so that a line of 1 MB would else become gigabytes of rows."""

CHARACTERS_TOGETHER_MAX: Final = 16 * PACK_CHARACTERS_MAX
"""Characters of topics, names and units of records that are made together, 128 million. Where there
are more the packs are read one by one."""

PACK_BYTES_MAX: Final = 64 * 1024
"""Bytes of a payload that is parsed together with others: a reading has some hundreds. A larger one
is read alone."""

PACKS_TOGETHER_MAX: Final = 16_384
"""Payloads that are parsed as one text, which has a GiB at most then: Arrow counts its bytes in 32
bits."""

BOARDS_COMPARED_MAX: Final = 10_000
"""Boards of a batch of which each one's numbers are compared with the stored ones: a row of a query
each, half a second for all. Of more than these those of their gateways are."""

OUTLINE_RUNS_MAX: Final = 2_000
"""Runs of numbers in a staged file's outline. Numbers that follow each other are one run: an honest
file has a few of each board."""

OUTLINE_CHARACTERS_MAX: Final = 256 * 1024
"""Characters of a staged file's outline. The driver has those of a batch, at most 128 MB; of files
with larger ones it has none, and reads their events from the table again."""

HALVES_PER_BATCH_MAX: Final = 20_000
"""Messages of which a file has one half that the driver pairs: in a file's life of minutes only
those are apart that were on their way when it was sealed. More are paired by a join."""

KEY_RANGES_MAX: Final = 64
"""Ranges of keys that are written into one filter so that Delta skips files; more than this and the
filter costs more than it saves."""

GAPS_SHOWN_MAX: Final = 200
"""Gaps that a report carries; all are counted."""

BOARDS_SHOWN_MAX: Final = 200
"""Boards that gave numbers again and that a report carries."""

GATEWAYS_SHOWN_MAX: Final = 200
"""Gateways that a report carries; all are counted."""

SEGMENTS_HELD_MAX: Final = 100_000
"""Segments of all batches up to which the driver holds their rows during a run: some 100 MB. With
more of them Spark answers each query."""

QUERIES_AT_A_TIME_MAX: Final = 3
"""Commits of a batch, or queries of a report, beside each other. They are of different tables, and
one is planned while another waits; each needs the driver's memory for itself."""

TASK_TRIES_MAX: Final = 4
"""Times that a task is tried on one machine, where Spark itself tries once: as many as on a
cluster."""

OPEN_FILES_PER_TASK_MAX: Final = 8
"""Files of different days that a task writes beside each other. Without this its rows are sorted by
day first, although they come file by file; with more days than these the rest is sorted."""

GATEWAYS_NAMED_MAX: Final = 1_000
"""Gateways whose keys are looked up by name; of more than these all keys are read, a row each."""

SIGNERS_SHOWN_MAX: Final = 10_000
"""Pairs of gateway and key that an audit carries."""

KEYS_FILE_BYTES_MAX: Final = 16 * 1024 * 1024
"""Bytes of the file of `--keys`: a hundred thousand gateways with a name each."""

KEYS_PER_GATEWAY_MAX: Final = 16
"""Keys that a gateway has at a time: its present one, and those of segments that are on the way."""

TIME_MILLISECONDS_MAX: Final = 253_402_300_799_999
"""The end of the year 9999, in milliseconds since 1970-01-01 UTC: the last time that Spark's
timestamps and everyone else's can show."""

DAY_MIN: Final = date(2020, 1, 1)
"""The first day that makes a partition: no gateway is older, and a clock without a battery shows
1970. The last one is the day after that on which a segment is ingested."""

CLOCK_LOOK_MILLISECONDS: Final = 5_000
"""Within so long of a step of the clock the gateway has recorded it: it looks once a second, and is
given a few more where it is busy."""

CONFLICT_RETRIES_MAX: Final = 3
"""Times that a step is tried again when another writer committed beside it. A second run of the job
conflicts once a step at most; more than that means that another program writes to the tables."""

COMMITS_LOOKED_AT_MAX: Final = 100
"""Last commits of a table among which a batch's own is looked for. Each batch makes one; the rest
is room for those of an operator's programs between a run that died and the one that continues."""

AUDIT_EXCEPTIONS_MAX: Final = 10_000
"""Exceptions that an audit carries by name, violations first; all are counted."""

VALUES_MAX: Final = 20_000
"""Rows (of some 300 bytes) that the driver holds itself because many queries ask for them: gaps and
findings of an audit, days that are made again. More stay where they were found."""

OFFLINE_DAYS_MAX: Final = 366
"""Days between two starts of a gateway that count as offline: a longer time is a clock that was
set, and would make a row for each day since 1970."""

DROPS_PER_DAY_MAX: Final = 100
"""Rows of `drops` for a gateway and day, at most: topics can be made up without end."""

SENSOR_CLOCK_DAYS_MAX: Final = 366
"""Days between a reading's own time and its delivery: a gateway keeps what it cannot deliver for
months, and a sensor's clock that is off by more was never set."""

TEXT_CHARACTERS_MAX: Final = 200
"""Characters of a text reading in `sensor_quarters` and `sensor_days`, which show the last one."""

PERCENTILE_ACCURACY: Final = 1_000
"""Accuracy of approximate percentiles: their rank is off by at most a thousandth of the values."""

COMPACT_FILE_BYTES: Final = 64 * 1024 * 1024
"""A file below this is small: it costs a reader about as much as one of this size."""

COMPACT_FILES_MIN: Final = 8
"""Small files of a partition from which on it is compacted: fewer cost less than the rewrite."""

GAPS_LISTED_MAX: Final = 10_000
"""Gaps that `oncegate gaps` prints, the largest first; all are counted."""
