"""Tables of totals: each batch adds its events once, in whatever order they land."""

from tests.cloud_jobs.conftest import Place


def test_a_message_held_in_one_batch_and_released_in_another_is_one_row(golden: Place) -> None:
    rows = golden.rows("qos2_messages", "gateway = 'halves'")
    assert sorted((row["message"], row["state"]) for row in rows) == [
        (1, "released"),
        (2, "released"),
        (3, "released"),
    ]


def test_each_held_message_is_one_row_and_each_delivery_too(golden: Place) -> None:
    held = golden.rows("events", "event = 'message_held'")
    keys = {(row["gateway"], row["store"], row["message"]) for row in held}
    rows = golden.rows("qos2_messages", "held IS NOT NULL")
    assert len(rows) == len(keys)
    done = golden.rows("events", "event = 'delivery_completed'")
    places = {(row["gateway"], row["store"], row["session"], row["message"]) for row in done}
    assert len(golden.rows("qos2_deliveries", "completed IS NOT NULL")) == len(places)


def test_events_of_two_batches_are_counted_once(golden: Place) -> None:
    counted = sum(row["events"] for row in golden.rows("boots"))
    assert counted == len(golden.rows("events"))
