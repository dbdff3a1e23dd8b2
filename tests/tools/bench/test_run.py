"""The load generator against the real broker: every message of every kind is accounted for."""

import dataclasses
from collections.abc import Iterator

import pytest

from gateway.tools.bench.run import run
from gateway.tools.bench.scenario import Scenario
from tests.system.broker_process import BrokerProcess
from tests.system.fixtures import running_broker


@pytest.fixture(scope="module")
def broker() -> Iterator[BrokerProcess]:
    with running_broker("[mqtt]\nmax_inflight = 50\n") as broker:
        yield broker


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("persistent", [False, True])
def test_every_message_comes_once_and_every_exchange_ends(
    broker: BrokerProcess, qos: int, version: int, persistent: bool
) -> None:
    scenario = Scenario(
        port=broker.port,
        version=version,
        publishers=3,
        subscribers=3,
        shape="pairs",
        qos=qos,
        window=50,
        persistent=persistent,
        count=2_000,
    )
    result = run(scenario, broker_pid=broker.process_id)
    assert result.is_clean
    assert (result.sent, result.received, result.completed) == (6_000, 6_000, 6_000)
    assert broker.ask("status")["sessions"]["total"] == 0


@pytest.mark.parametrize(("publishers", "subscribers"), [(1, 20), (20, 1), (4, 3)])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_fan_out_and_fan_in_are_counted_for_each_subscriber(
    broker: BrokerProcess, publishers: int, subscribers: int, qos: int
) -> None:
    scenario = Scenario(
        port=broker.port, publishers=publishers, subscribers=subscribers, qos=qos, count=300
    )
    result = run(scenario)
    assert result.is_clean
    assert result.received == 300 * publishers * subscribers


@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("size", [10, 127, 5_000, 300_000])
def test_payloads_of_every_size_arrive_unchanged(
    broker: BrokerProcess, size: int, qos: int
) -> None:
    result = run(
        Scenario(port=broker.port, qos=qos, payload_bytes=size, count=50, window=4, outstanding=4)
    )
    assert result.is_clean
    assert result.received == 50


def test_a_rate_is_kept_and_every_message_of_it_is_timed(broker: BrokerProcess) -> None:
    scenario = Scenario(
        port=broker.port, publishers=3, rate=300.0, warm_up_seconds=0.0, duration_seconds=2.0
    )
    result = run(scenario)
    assert result.is_clean
    assert result.sent == pytest.approx(600, abs=30)
    assert result.limit == "rate"
    assert list(result.delivery_ms) == ["p50", "p90", "p99", "p99.9", "max"]
    assert result.timeline


def test_a_generator_that_never_sleeps_keeps_to_its_plan_and_costs_a_core(
    broker: BrokerProcess,
) -> None:
    scenario = Scenario(
        port=broker.port, rate=200.0, spin=True, warm_up_seconds=0.0, duration_seconds=1.0
    )
    result = run(scenario)
    assert result.is_clean
    assert result.sent == pytest.approx(200, abs=20)
    asleep = run(dataclasses.replace(scenario, spin=False))
    assert asleep.generator_share * 2 < result.generator_share


def test_publishers_alone_are_measured_by_their_acknowledgements(broker: BrokerProcess) -> None:
    scenario = Scenario(port=broker.port, subscribers=0, qos=2, window=1, persistent=True, count=50)
    result = run(scenario, broker_pid=broker.process_id)
    assert result.is_clean
    assert result.completed == 50
    assert result.delivery_ms == {}
    assert 0 < result.acknowledgement_ms["p50"] <= result.acknowledgement_ms["max"]
    usage = result.as_json()["broker"]
    assert usage["rss_bytes"] > 1 << 20
    # 50 messages, each written to the disk before PUBREC.
    assert usage["written_bytes"] >= 50 * 64


AWAY = Scenario(
    qos=1, publishers=3, subscribers=3, shape="pairs", window=50, persistent=True, away=True
)


@pytest.mark.parametrize("version", [4, 5])
@pytest.mark.parametrize("qos", [1, 2])
def test_what_was_queued_comes_when_the_subscribers_are_back(
    broker: BrokerProcess, qos: int, version: int
) -> None:
    scenario = dataclasses.replace(AWAY, port=broker.port, qos=qos, version=version, count=2_000)
    result = run(scenario)
    assert result.is_clean
    # Only the delivery from the queues was measured.
    assert (result.sent, result.completed, result.received) == (0, 0, 6_000)
    assert result.end.sent == 6_000
    assert result.delivery_ms == {}


def test_full_queues_are_published_to_and_what_they_drop_is_no_fault() -> None:
    with running_broker("[mqtt]\nmax_mqueue_len = 10\n") as broker:
        scenario = dataclasses.replace(
            AWAY, port=broker.port, warm_up_seconds=0.2, duration_seconds=0.5
        )
        result = run(scenario)
        assert result.is_clean
        assert result.received == 0
        assert result.counted == result.sent > 30
        assert broker.ask("status")["messages"]["dropped"]
