"""The audit check `fan_out`: a message enters the queue of each matching persistent session once.

When the gateway releases a message to its subscribers, it logs the release and all resulting queue
entries as one batch, with the same time. The check compares these entries with the subscriptions at
that time. The logged number of matching sessions (`matched`) is only an upper limit for the number
of entries, because it includes sessions whose events are not logged (clean sessions, QoS 0).
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from cloud_jobs.audit.findings import SESSION, STORE, finding, is_event

RELEASE = (*STORE, "released_at")


def releases_of(events: DataFrame) -> DataFrame:
    """Return one row for each release of a message.

    A message is released when it is passed on to its subscribers. The event in the log is
    `message_released` if the gateway held the message first (QoS 2), otherwise
    `message_published`. The columns are `gateway`, `store`, `released_at` (the event's number),
    `message`, `time`, `topic`, `message_qos`, `matched` and `publisher`.
    """
    contents = (
        events.where(is_event("message_held"))
        .groupBy(*STORE, "message")
        .agg(F.max("topic").alias("held_topic"))
    )
    in_turn = Window.partitionBy(*STORE, "message").orderBy("sequence")
    is_first = F.row_number().over(in_turn) == 1
    topic = F.when(is_event("message_released"), F.when(is_first, F.col("held_topic"))).when(
        F.col("origin") != "gateway", F.col("topic")
    )
    out = events.where(is_event("message_released", "message_published"))
    return out.join(contents, [*STORE, "message"], "left").select(
        *STORE,
        F.col("sequence").alias("released_at"),
        "message",
        "time",
        topic.alias("topic"),
        F.when(is_event("message_released"), 2).otherwise(F.col("qos")).alias("message_qos"),
        "matched",
        F.col("session").alias("publisher"),
    )


def entries_of(events: DataFrame, positions: DataFrame) -> DataFrame:
    """Return one row for each entry: a message that was queued, sent or dropped for a session.

    A message that was sent from a queue has only one row. A dropped message has a row only if it
    was never queued. `positions` is the result of `queues.position_uses`.
    """
    columns = (*SESSION, "message", "sequence", "time")
    taken = positions.where("use = 1").select(*columns)
    was_queued = positions.select(*SESSION, "message").distinct()
    drops = events.where(is_event("message_dropped"))
    full = drops.where(F.col("reason").isin("queue_full", "queue_bytes", "refused")).select(
        *columns
    )
    large = drops.where("reason = 'too_large'").join(was_queued, [*SESSION, "message"], "left_anti")
    return taken.unionByName(full).unionByName(large.select(*columns))


def split_entries(releases: DataFrame, entries: DataFrame) -> tuple[DataFrame, DataFrame]:
    """Separate queue entries logged with the release of their message from those logged later.

    Return the two groups in this order. The new column `released_at` is the sequence number of the
    release in the first group, and null in the second.
    """
    keys = releases.select(*STORE, "message", "time", "released_at")
    joined = entries.join(keys, [*STORE, "message", "time"], "left")
    belongs = F.col("sequence") > F.col("released_at")
    with_number = joined.withColumn("released_at", F.when(belongs, F.col("released_at")))
    one = with_number.groupBy(*SESSION, "message", "sequence", "time").agg(
        F.max("released_at").alias("released_at")
    )
    return one.where("released_at IS NOT NULL"), one.where("released_at IS NULL")


def _topic_pattern(column: str) -> Column:
    """Return a Spark expression that converts a topic filter to a regular expression.

    The regular expression matches the filter's topics. `column` is the name of the column that
    contains the filter.
    """
    levels = F.transform(
        F.split(column, "/", -1),
        lambda level: F.when(level == "+", F.lit("[^/]*")).otherwise(
            F.concat(
                F.lit("\\Q"), F.replace(level, F.lit("\\E"), F.lit("\\E\\\\E\\Q")), F.lit("\\E")
            )
        ),
    )
    whole = F.concat(F.lit("(?s)^"), F.array_join(levels, "/"), F.lit("$"))
    any_rest = F.replace(whole, F.lit("/\\Q#\\E$"), F.lit("(/.*)?$"))
    return F.replace(any_rest, F.lit("^\\Q#\\E$"), F.lit("^.*$"))


def _subscription_intervals(changes: DataFrame, events: DataFrame) -> DataFrame:
    """Return the interval of event numbers during which each subscription was in force.

    The columns are `gateway`, `store`, `session`, `filter`, `sequence`, `until` and `granted`. The
    event `sequence` began the interval, and the event `until` ended it. If the subscription is
    still in force, `until` is greater than any event number.

    Args:
        changes: the events `subscribed` and `unsubscribed`.
        events: all events, including those that end sessions.
    """
    in_order = Window.partitionBy(*SESSION, "filter").orderBy("sequence")
    ends = events.where(is_event("session_ended")).groupBy(*SESSION)
    ended = ends.agg(F.max("sequence").alias("ended"))
    never = F.lit(2**62)
    return (
        changes.withColumn("changed", F.lead("sequence").over(in_order))
        .where(is_event("subscribed"))
        .join(ended, list(SESSION), "left")
        .withColumn("until", F.least(F.coalesce("changed", never), F.coalesce("ended", never)))
        .select(*SESSION, "filter", "sequence", "until", F.col("qos").alias("granted"))
    )


def matches_of(releases: DataFrame, events: DataFrame) -> DataFrame:
    """Return one row for each pair of a released message and a matching subscription in force.

    The columns are those of `releases`, plus `session`, `granted`, `is_shared` and `subscribed_at`.
    """
    changes = events.where(is_event("subscribed", "unsubscribed"))
    shared = F.col("filter").rlike("^\\$share/[^/+#]+/.")
    plain = F.when(shared, F.regexp_replace("filter", "^\\$share/[^/]+/", "")).otherwise(
        F.col("filter")
    )
    filters = (
        changes.select(*STORE, "filter").distinct()
        .withColumn("plain", plain)
        .withColumn("is_shared", shared)
    )  # fmt: skip
    patterns = filters.withColumn("pattern", _topic_pattern("plain"))
    topics = releases.where("topic IS NOT NULL").select(*STORE, "topic").distinct()
    hidden = F.col("topic").startswith("$") & ~F.col("plain").startswith("$")
    pairs = (
        topics.join(patterns, list(STORE))
        .where(F.expr("topic RLIKE pattern") & ~hidden)
        .select(*STORE, "topic", "filter", "is_shared")
    )
    in_force = (F.col("sequence") < F.col("released_at")) & (F.col("released_at") < F.col("until"))
    return (
        releases.join(pairs, [*STORE, "topic"])
        .join(_subscription_intervals(changes, events), [*STORE, "filter"])
        .where(in_force)
        .withColumnRenamed("sequence", "subscribed_at")
    )


def with_counts(releases: DataFrame, with_release: DataFrame, events: DataFrame) -> DataFrame:
    """Add columns to the result of `releases_of`.

    `entries` is the number of queue entries that were logged with the release (`with_release`).
    `last_time` is the time of the last event in the store. `may_be_5` is True if the publisher has
    used MQTT 5.0. `events` are all events.
    """
    fives = events.where("protocol = 5").select(*STORE, F.col("session").alias("publisher"))
    last = events.groupBy(*STORE).agg(F.max("time").alias("last_time"))
    counted = with_release.groupBy(*RELEASE).agg(F.count("*").alias("entries"))
    return (
        releases.join(counted, list(RELEASE), "left")
        .join(last, list(STORE))
        .join(fives.distinct().withColumn("may_be_5", F.lit(True)), [*STORE, "publisher"], "left")
        .withColumn("entries", F.coalesce("entries", F.lit(0)))
        .withColumn("may_be_5", F.coalesce("may_be_5", F.lit(False)))
    )


def wrong_releases(
    releases: DataFrame, matched: DataFrame, with_release: DataFrame, events: DataFrame
) -> DataFrame:
    """Find releases with too few or too many queue entries, compared with the subscriptions.

    Return the findings of the audit check `fan_out`.

    Args:
        releases: result of `with_counts`. `broken` is True if the log has a gap before the release.
        matched: result of `matches_of`: the matching subscriptions of each release.
        with_release: the queue entries that were logged with the release of their message.
        events: all events.
    """
    text = F.concat(
        F.lit("message "), "message", F.lit(" matched "), "matched", F.lit(" sessions and has "),
        "entries", F.lit(" entries"),
    )  # fmt: skip
    no_session = F.lit(None).cast("long")
    rows = releases.withColumn("session", no_session).withColumn("sequence", F.col("released_at"))
    ends = _ends_of_sharing_sessions(events)
    many = rows.where("entries > matched").join(ends, [*STORE, "time"], "left_anti")
    few = rows.where("broken AND entries < matched AND message_qos > 0")
    why = F.concat(text, F.lit(": the log is not whole, so the others cannot be judged"))
    found = finding(many, "fan_out", text, F.col("sequence")).unionByName(
        finding(few, "fan_out", why, F.col("sequence"), "inconclusive")
    )
    whole = releases.where("NOT broken")
    return found.unionByName(_missing_entries(whole, matched, with_release)).unionByName(
        _surplus_entries(whole.where("entries <= matched"), matched, with_release)
    )


def _missing_entries(releases: DataFrame, matched: DataFrame, with_release: DataFrame) -> DataFrame:
    """Find sessions that should have received a released message but have no queue entry for it.

    These are persistent sessions with a matching subscription at QoS 1 or 2. Shared subscriptions
    do not count, because each message goes to only one of their sessions.
    """
    due = matched.where("NOT is_shared AND granted > 0 AND message_qos > 0")
    due = due.groupBy(*RELEASE, "session").agg(F.max("subscribed_at").alias("subscribed_at"))
    absent = due.join(with_release, [*RELEASE, "session"], "left_anti")
    absent = absent.join(releases, list(RELEASE))
    rows = absent.withColumn("sequence", F.col("released_at"))
    is_cut = (F.col("time") == F.col("last_time")) & (F.col("entries") < F.col("matched"))
    may = F.col("may_be_5") & ((F.col("matched") == 0) | (F.col("publisher") == F.col("session")))
    why = (
        F.when(is_cut, "; the end of its batch is not here")
        .when(
            may,
            "; it may have expired before its release, or the subscription may progress no local",
        )
        .otherwise(", which subscribes")
    )
    text = F.concat(F.lit("message "), "message", F.lit(" never reached this session's queue"), why)
    verdict = F.when(is_cut | may, "inconclusive").otherwise("violation")
    # Without the number of matching sessions, nothing can be said.
    known = rows.where((is_cut | may).isNotNull())
    return finding(known, "fan_out", text, F.col("subscribed_at"), verdict)


def _surplus_entries(releases: DataFrame, matched: DataFrame, with_release: DataFrame) -> DataFrame:
    """Find sessions with too many queue entries for one release of a message.

    A session can have one entry for each matching shared subscription, and one more for all its
    other matching subscriptions together.
    """
    groups = F.count_distinct(F.when(F.col("is_shared"), F.col("filter")))
    ordinary = F.max(F.when(F.col("is_shared"), 0).otherwise(1))
    allowed = matched.groupBy(*RELEASE, "session").agg((groups + ordinary).alias("allowed"))
    counts = with_release.groupBy(*RELEASE, "session").agg(F.count("*").alias("count"))
    rows = counts.join(releases.where("topic IS NOT NULL"), list(RELEASE)).join(
        allowed, [*RELEASE, "session"], "left"
    )
    many = rows.where(F.col("count") > F.coalesce("allowed", F.lit(0)))
    detail = F.concat(
        F.lit("message "), "message", F.lit(" has "), "count", F.lit(" entries here, and "),
        F.coalesce("allowed", F.lit(0)), F.lit(" subscriptions matched"),
    )  # fmt: skip
    return finding(
        many.withColumn("sequence", F.col("released_at")), "fan_out", detail, F.col("released_at")
    )


def _ends_of_sharing_sessions(events: DataFrame) -> DataFrame:
    """Return the times at which sessions with shared subscriptions ended.

    An event with one of these times was logged in the same batch as the end of a session.
    """
    members = events.where(is_event("subscribed") & F.col("filter").startswith("$share/"))
    ended = events.where(is_event("session_ended"))
    return ended.join(members.select(*SESSION), list(SESSION), "left_semi").select(*STORE, "time")


def unexplained_entries(late: DataFrame, events: DataFrame) -> DataFrame:
    """Find queue entries that were added after the release of their message for no valid reason.

    `late` contains all entries that were added later. There are two valid reasons: the message is
    retained, or it was taken over from a session that had a shared subscription and has ended.
    """
    kept = events.where(is_event("retained_set")).select(*STORE, "message").distinct()
    opened = events.where(is_event("session_opened")).select(*SESSION).distinct()
    rows = (
        late.join(kept, [*STORE, "message"], "left_anti")
        .join(_ends_of_sharing_sessions(events).distinct(), [*STORE, "time"], "left_anti")
        .join(opened, list(SESSION), "left_semi")
    )
    detail = F.concat(
        F.lit("message "),
        "message",
        F.lit(" enters the session behind its release, is not retained and was not handed on"),
    )
    return finding(rows, "fan_out", detail, F.lit(0))
