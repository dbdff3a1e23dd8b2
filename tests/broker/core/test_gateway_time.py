"""Durations with a clock that starts in the past and jumps, during a run and between runs.

`harness.time_ms` is the wall clock; `harness.clock` is its quality as the kernel reports it.
"""

import pytest

from gateway.broker.core.gateway_time import ClockQuality
from gateway.broker.core.records.kinds import Observation
from gateway.broker.core.sessions.session import Session
from gateway.broker.wire.packets import Publish, Subscribe, Subscription
from tests.broker.core.harness import Client, Harness, payloads, publishes
from tests.broker.core.mqtt5 import connect, publish, subscriber, will

MINUTE_MS = 60_000
HOUR_MS = 60 * MINUTE_MS
YEARS_MS = 3 * 365 * 24 * HOUR_MS

NEVER = 0xFFFF_FFFF
STEPS = pytest.mark.parametrize("step_ms", [-1_700_000_000_000, -MINUTE_MS, HOUR_MS, YEARS_MS])


def keep(harness: Harness, topic: str, payload: bytes, expiry: int) -> None:
    """Publish a retained message and commit it."""
    left = {"message_expiry_interval_seconds": expiry}
    publish(harness, connect(harness, "p"), topic, payload, retain=True, **left)


def retained(harness: Harness, client_id: str = "auditor") -> dict[bytes, int | None]:
    """Return the payloads of all retained messages, each with its remaining expiry interval."""
    client = connect(harness, client_id)
    client.send(Subscribe(1, [Subscription("#", 0)]))
    harness.commit()
    harness.advance(0)
    found = publishes(client.take())
    harness.lose(client)
    harness.commit()
    return {each.payload: expiry_of(each) for each in found}


def expiry_of(packet: Publish) -> int | None:
    return packet.properties.message_expiry_interval_seconds if packet.properties else None


def away(harness: Harness) -> Client:
    """Disconnect a subscriber and return a publisher."""
    harness.lose(subscriber(harness, "s", "t", 1))
    harness.commit()
    return connect(harness, "p")


def back(harness: Harness) -> list[bytes]:
    """Reconnect the subscriber; return the payloads that were queued for it."""
    client = connect(harness, "s")
    harness.commit()
    return payloads(client.take())


def session(harness: Harness, client_id: str) -> Session | None:
    return harness.broker.state.sessions.get(client_id)


def step_an_hour(harness: Harness) -> None:
    """Step the clock an hour forward, mark it as synchronised, and report the step."""
    harness.clock = ClockQuality.SYNCHRONISED
    harness.time_ms += HOUR_MS
    harness.broker.observe(None, Observation.CLOCK_STEPPED, "", str(HOUR_MS))
    harness.commit()


@pytest.mark.statement("MQTT5-3.3.2-6")
@pytest.mark.parametrize("expiry", [NEVER, NEVER - 1, 3_600])
@pytest.mark.parametrize("synchronised", [False, True])
def test_a_clock_that_comes_back_a_minute_back_leaves_no_more_than_the_publisher_gave(
    harness: Harness, expiry: int, synchronised: bool
) -> None:
    harness.clock = ClockQuality.SYNCHRONISED if synchronised else ClockQuality.UNSYNCHRONISED
    keep(harness, "r", b"kept", expiry)
    harness.time_ms -= MINUTE_MS
    harness.cut()
    left = retained(harness)[b"kept"]
    assert left is not None
    assert expiry - 2 <= left <= expiry


@pytest.mark.statement("MQTT5-3.3.2-6")
def test_an_interval_of_earlier_data_never_exceeds_32_bits(harness: Harness) -> None:
    keep(harness, "r", b"kept", NEVER)
    message = harness.broker.state.retained["r"]
    message.expires_ms += YEARS_MS  # as a clock wrote it that was three years ahead
    assert retained(harness)[b"kept"] == NEVER


@STEPS
def test_a_step_of_the_clock_clears_nothing_that_is_retained(
    harness: Harness, step_ms: int
) -> None:
    keep(harness, "r", b"kept", 600)
    harness.time_ms += step_ms
    harness.advance(0)
    assert retained(harness) == {b"kept": 600}
    harness.advance(590)
    assert retained(harness, "later") == {b"kept": 10}
    harness.cut()
    assert b"kept" in retained(harness, "latest")
    harness.advance(11)
    assert not retained(harness, "last")


@STEPS
def test_a_step_of_the_clock_drops_nothing_that_waits(harness: Harness, step_ms: int) -> None:
    publisher = away(harness)
    publish(harness, publisher, "t", b"first", message_expiry_interval_seconds=600)
    harness.time_ms += step_ms
    harness.advance(0)
    publish(harness, publisher, "t", b"second", message_expiry_interval_seconds=60)
    harness.advance(100)
    assert back(harness) == [b"first"]


@STEPS
def test_a_step_of_the_clock_drops_no_will(harness: Harness, step_ms: int) -> None:
    harness.lose(subscriber(harness, "s", "w", 1))
    left = will(message_expiry_interval_seconds=600)
    client = connect(harness, "p", expiry=0, will=left)
    harness.time_ms += step_ms
    harness.advance(0)
    harness.lose(client)
    harness.time_ms -= step_ms
    harness.advance(0)
    assert back(harness) == [b"will"]


def test_a_message_counts_from_when_it_came_and_not_from_the_last_turn(harness: Harness) -> None:
    publisher = away(harness)
    harness.now += 5  # nothing happened in between, and the event loop did not run
    harness.time_ms += 5_000
    publish(harness, publisher, "t", b"kept", message_expiry_interval_seconds=2)
    harness.advance(1)
    assert back(harness) == [b"kept"]


@STEPS
def test_a_clock_that_is_not_synchronised_spends_nothing_over_a_restart(
    harness: Harness, step_ms: int
) -> None:
    harness.clock = ClockQuality.UNSYNCHRONISED
    publish(harness, away(harness), "t", b"kept", message_expiry_interval_seconds=600)
    keep(harness, "r", b"retained", 600)
    harness.lose(connect(harness, "c", expiry=600))
    harness.commit()
    harness.time_ms += step_ms
    harness.cut()
    harness.advance(500)
    assert session(harness, "c") is not None
    assert retained(harness)[b"retained"] in (99, 100)
    assert back(harness) == [b"kept"]
    harness.advance(101)
    assert session(harness, "c") is None
    assert not retained(harness, "later")


def test_time_switched_off_counts_where_the_clock_was_synchronised_before_and_is_now(
    harness: Harness,
) -> None:
    publish(harness, away(harness), "t", b"over", message_expiry_interval_seconds=600)
    keep(harness, "r", b"kept", 7_200)
    harness.lose(connect(harness, "c", expiry=600))
    harness.commit()
    harness.time_ms += HOUR_MS
    harness.cut()
    harness.advance(0)
    assert session(harness, "c") is None
    assert retained(harness) == {b"kept": 3_600}
    assert back(harness) == []
    assert not harness.broker.state.time.outages, "nothing is younger than the time switched off"


def test_time_switched_off_counts_when_the_clock_is_synchronised_later(harness: Harness) -> None:
    publish(harness, away(harness), "t", b"over", message_expiry_interval_seconds=1_000)
    keep(harness, "r", b"kept", 7_200)
    harness.lose(connect(harness, "c", expiry=1_000))
    harness.lose(connect(harness, "w", expiry=NEVER, will=will(delay=1_000)))
    harness.commit()
    watch = subscriber(harness, "watch", "w", 0)
    # The gateway was off for an hour, and its clock continues where it stopped.
    harness.clock = ClockQuality.UNSYNCHRONISED
    harness.cut()
    harness.advance(20)
    watch = subscriber(harness, "watch", "w", 0)
    publish(harness, connect(harness, "p"), "t", b"new", message_expiry_interval_seconds=1_000)
    harness.lose(connect(harness, "d", expiry=1_000))
    harness.advance(0)
    assert session(harness, "c") is not None
    assert retained(harness)[b"kept"] in (7_179, 7_180)
    step_an_hour(harness)
    harness.advance(0)
    assert session(harness, "c") is None, "what was carried over is an hour older"
    assert payloads(watch.take()) == [b"will"]
    assert retained(harness, "later")[b"kept"] in (3_579, 3_580)
    assert session(harness, "d") is not None, "what is younger than the power cut is not"
    harness.cut()
    harness.advance(900)
    assert session(harness, "d") is not None
    assert back(harness) == [b"new"]
    harness.advance(101)
    assert session(harness, "d") is None
    assert retained(harness, "last")[b"kept"] in (2_577, 2_578, 2_579)


def test_time_switched_off_twice_is_known_together_and_spent_by_the_oldest(
    harness: Harness,
) -> None:
    keep(harness, "r/1", b"first", 7_200)
    harness.clock = ClockQuality.UNSYNCHRONISED
    harness.cut()
    keep(harness, "r/2", b"second", 7_200)
    harness.cut()
    keep(harness, "r/3", b"third", 7_200)
    step_an_hour(harness)  # nothing states in which of the two power cuts the hour passed
    harness.checkpoint()
    harness.cut()
    assert retained(harness) == {b"first": 3_600, b"second": 7_200, b"third": 7_200}


@pytest.mark.parametrize("chunks", range(1, 12))
def test_rows_of_a_checkpoint_that_was_cut_do_not_make_a_message_older_than_its_run(
    harness: Harness, chunks: int
) -> None:
    keep(harness, "r/1", b"first", 7_200)
    harness.clock = ClockQuality.UNSYNCHRONISED
    harness.cut()
    keep(harness, "r/2", b"second", 7_200)
    harness.begin_checkpoint()
    harness.seal(checkpoint_chunks=chunks)
    harness.cut()
    step_an_hour(harness)
    assert retained(harness) == {b"first": 3_600, b"second": 7_200}


def test_a_clock_that_was_wrong_when_it_was_called_synchronised_spends_nothing_again(
    harness: Harness,
) -> None:
    keep(harness, "r", b"kept", 7_200)
    for _ in range(3):
        harness.time_ms -= HOUR_MS
        harness.cut()
        step_an_hour(harness)
        harness.cut()
    assert retained(harness)[b"kept"] in range(7_197, 7_201)


@STEPS
def test_a_will_delay_goes_on_after_a_restart_with_another_clock(
    harness: Harness, step_ms: int
) -> None:
    harness.clock = ClockQuality.UNSYNCHRONISED
    harness.lose(connect(harness, "w", will=will(delay=600)))
    harness.commit()
    harness.advance(100)
    publish(harness, connect(harness, "p"), "t", b"anything", retain=True)
    harness.time_ms += step_ms
    harness.cut()
    watch = subscriber(harness, "watch", "w", 0)
    harness.advance(499)
    assert not watch.take()
    harness.advance(1)
    assert payloads(watch.take()) == [b"will"]


@pytest.mark.parametrize("harm", ["nothing", "the tables are gone", "the journal is gone"])
def test_the_time_survives_the_loss_of_the_tables_or_of_the_journal(
    harness: Harness, harm: str
) -> None:
    harness.clock = ClockQuality.UNSYNCHRONISED
    harness.time_ms = 1_000  # a new gateway whose clock is not set: 1970
    harness.restart()
    harness.advance(10_000)
    harness.clock = ClockQuality.SYNCHRONISED
    harness.time_ms += YEARS_MS
    keep(harness, "r", b"kept", 600)
    harness.commit()
    if harm == "the journal is gone":
        harness.checkpoint()
    harness.store.close(clean=False)
    if harm == "the tables are gone":
        for path in harness.data_dir.glob("broker.db*"):
            path.unlink()
    elif harm == "the journal is gone":
        for path in harness.data_dir.glob("journal/*"):
            path.unlink()
    harness.clients = {}
    harness._open()
    assert retained(harness)[b"kept"] in (599, 600)
    harness.advance(601)
    assert not retained(harness, "later")
