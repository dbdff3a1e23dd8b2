"""Audit checks of MQTT packet identifiers: each must be in the right state when it is used.

The checks are named `held_once`, `duplicate`, `released_once`, `identifier` and `resent`. Part of
the check `delivery` is also in this module.
"""

from __future__ import annotations

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from cloud_jobs.audit.findings import INBOUND, OUTBOUND, SESSION, STORE, finding, is_event

_FREE: Final = ("message_released", "message_abandoned", "delivery_completed")
_USE: Final = (
    *SESSION, "sequence", "event", "message", "packet_id", "packet",
    "state", "after", "before", "since", "granted", "is_last",
)  # fmt: skip


def uses_of(events: DataFrame) -> DataFrame:
    """Return the events that use a packet identifier, with the identifier's state before and after.

    The new columns `state` (before the event) and `after` contain `held`, `sent`, `received` or
    `free`. For the first use, `state` is null. Other new columns describe the previous use.
    """
    is_outbound = is_event(*OUTBOUND) | (is_event("delivery_completed") & (F.col("packet_id") > 0))
    used = events.where(is_event(*INBOUND) | is_outbound).withColumn("outbound", is_outbound)
    in_turn = Window.partitionBy(*SESSION, "outbound", "packet_id").orderBy("sequence")
    so_far = in_turn.rowsBetween(Window.unboundedPreceding, 0)
    earlier = in_turn.rowsBetween(Window.unboundedPreceding, -1)
    # A repetition (a duplicate, a packet sent again) does not change the state.
    after = (
        F.when(is_event("message_held"), "held")
        .when(is_event("delivery_started"), "sent")
        .when(is_event("delivery_received"), "received")
        .when(is_event(*_FREE), "free")
    )
    started_qos = F.when(is_event("delivery_started"), F.col("qos"))
    return (
        used.withColumn("after", after)
        .withColumn("state", F.last("after", ignorenulls=True).over(earlier))
        .withColumn("before", F.lag("message").over(in_turn))
        .withColumn("since", F.lag("sequence").over(in_turn))
        .withColumn("granted", F.last(started_qos, ignorenulls=True).over(so_far))
        .withColumn("after", F.coalesce("after", "state", F.lit("free")))
        .withColumn("is_last", F.lead("sequence").over(in_turn).isNull())
        .select(*_USE)
    )


def _text(what: str) -> Column:
    return F.concat(
        "event",
        F.lit(" of message "),
        "message",
        F.lit(" under packet identifier "),
        "packet_id",
        F.lit(f": {what}; before it was "),
        F.coalesce("state", F.lit("free")),
        F.coalesce(F.concat(F.lit(" by message "), "before"), F.lit("")),
    )


def wrong_identifiers(used: DataFrame, events: DataFrame) -> DataFrame:
    """Find packet identifiers that were used in a wrong state.

    Return findings of the checks `held_once`, `duplicate`, `released_once`, `identifier`, `resent`
    and `delivery`. `used` is the result of `uses_of`.
    """
    same = F.col("before").eqNullSafe(F.col("message"))
    is_taken = F.coalesce("state", F.lit("free")) != "free"
    in_state = {
        name: F.coalesce(F.col("state") == name, F.lit(False)) & same
        for name in ("held", "sent", "received")
    }
    due = F.when(F.col("packet") == "pubrel", in_state["received"]).otherwise(in_state["sent"])
    check = (
        F.when(is_event("message_held") & is_taken, "held_once")
        .when(is_event("duplicate_suppressed") & ~in_state["held"], "duplicate")
        .when(is_event("message_released", "message_abandoned") & ~in_state["held"],
              "released_once")
        .when(is_event("delivery_started") & is_taken, "identifier")
        .when(is_event("delivery_resent") & ~due, "resent")
        .when(is_event("delivery_received") & ~(in_state["sent"] & (F.col("granted") == 2)),
              "resent")
        .when(is_event("delivery_completed") & ~(in_state["received"] | in_state["sent"]),
              "delivery")
    )  # fmt: skip
    wrong = used.withColumn("check_name", check).where("check_name IS NOT NULL")
    found = finding(wrong, F.col("check_name"), _text("not what was due"), F.col("since"))
    early = used.where(is_event("delivery_completed") & in_state["sent"] & (F.col("granted") == 2))
    # In MQTT 5.0 a client may refuse with PUBREC. A message dropped in flight is completed too.
    drops = events.where(is_event("message_dropped")).select(*SESSION, "message")
    unexplained = early.join(_sessions_of_mqtt_5(events), list(SESSION), "left_anti").join(
        drops, [*SESSION, "message"], "left_anti"
    )
    return found.unionByName(
        finding(unexplained, "delivery", _text("completed before its PUBREC"), F.col("since"))
    )


def _sessions_of_mqtt_5(events: DataFrame) -> DataFrame:
    return events.where("protocol = 5").select(*SESSION).distinct()


def received_twice(events: DataFrame) -> DataFrame:
    """Find messages that were logged as received more than once.

    Return one finding of the audit check `held_once` for each repetition.
    """
    taken = events.where(is_event("message_held", "message_published"))
    in_turn = Window.partitionBy(*STORE, "message").orderBy("sequence")
    again = taken.withColumn("since", F.lag("sequence").over(in_turn)).where("since IS NOT NULL")
    detail = F.concat(F.lit("message "), "message", F.lit(" came into the system once before"))
    return finding(again, "held_once", detail, F.col("since"))
