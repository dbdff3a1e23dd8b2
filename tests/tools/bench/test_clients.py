"""The clients of a run: as many as the scenario states, connected, and disconnected at the end."""

import subprocess
import sys
from collections.abc import Iterator

import pytest

from gateway.broker.wire.packets import Properties
from gateway.tools.bench.clients import BURST_BYTES_MAX, MATRICES_BYTES, Clients
from gateway.tools.bench.publisher import Publisher
from gateway.tools.bench.scenario import Scenario
from gateway.tools.bench.subscriber import Subscriber
from tests.system.broker_process import BrokerProcess, free_port
from tests.system.fixtures import running_broker
from tests.tools.bench.lying_broker import LyingBroker, result_of


@pytest.fixture(scope="module")
def broker() -> Iterator[BrokerProcess]:
    with running_broker() as broker:
        yield broker


def test_more_clients_than_open_files_are_allowed_by_default_can_connect(
    broker: BrokerProcess,
) -> None:
    command = [sys.executable, "-m", "gateway.cli.main", "bench", "--port", str(broker.port)]
    outcome = subprocess.run(
        ["prlimit", "--nofile=100:1000", *command, "--subscribers", "200", "--count", "20"],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert outcome.returncode == 0, outcome.stderr


async def test_the_receive_maximum_of_the_broker_is_the_window() -> None:
    properties = Properties()
    properties.receive_maximum = 3
    async with LyingBroker(connack=properties) as broker:
        result = await result_of(broker, qos=1, version=5, window=100)
    assert result.window_used == 3
    assert result.is_clean


def test_pairs_have_one_source_each_and_all_have_every_source() -> None:
    pairs = Clients(Scenario(publishers=3, subscribers=3, shape="pairs"))
    assert [list(each.sources) for each in pairs.subscribers] == [[0], [1], [2]]
    assert [len(each.receivers) for each in pairs.publishers] == [1, 1, 1]
    everyone = Clients(Scenario(publishers=3, subscribers=2))
    assert [list(each.sources) for each in everyone.subscribers] == [[0, 1, 2], [0, 1, 2]]
    assert [len(each.receivers) for each in everyone.publishers] == [2, 2, 2]


def test_subscribers_come_first_and_no_two_clients_share_a_name() -> None:
    clients = list(Clients(Scenario(publishers=2, subscribers=3)))
    assert [type(each) for each in clients] == [Subscriber] * 3 + [Publisher] * 2
    assert len({each.client_id for each in clients}) == 5


@pytest.mark.parametrize(("publishers", "payload_bytes"), [(1, 64), (500, 64), (40, 1 << 20)])
def test_the_matrices_of_all_publishers_stay_within_their_memory(
    publishers: int, payload_bytes: int
) -> None:
    scenario = Scenario(publishers=publishers, subscribers=0, payload_bytes=payload_bytes)
    for publisher in Clients(scenario).publishers:
        frames = publisher.frames
        room_bytes = min(BURST_BYTES_MAX, MATRICES_BYTES // (2 * publishers))
        assert frames.rows == 1 or frames.rows * frames.row_bytes <= room_bytes


def test_a_broker_that_is_not_there_is_an_error_and_leaving_it_is_none() -> None:
    clients = Clients(Scenario(port=free_port(), persistent=True))
    with pytest.raises(ConnectionRefusedError):
        clients.connect()
    clients.disconnect()
