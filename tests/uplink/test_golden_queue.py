"""A queue that an earlier version has written: the present uplink continues with every message
exactly once."""

import shutil
from pathlib import Path

import pytest

from gateway.uplink.formats import MIGRATIONS_KNOWN
from gateway.uplink.routes import Side
from tests.uplink.bench import Bench, running

GOLDEN = sorted((Path(__file__).parent / "golden").glob("uplink-*.db"))


@pytest.fixture(params=GOLDEN, ids=lambda path: path.name)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    copy = tmp_path / "uplink.db"
    shutil.copy(request.param, copy)
    return copy


async def test_a_queue_of_each_version_is_sent_on_and_nothing_is_taken_twice(path: Path) -> None:
    async with running(Bench(path)) as bench:
        committer = bench.committer
        assert committer.now >= 80.5
        for side in Side:
            assert committer.sessions[side] == f"session-{side.name}-0123abcd"
            assert committer.subscriptions[side] == '{"t/#": 2}'
            assert bench.connect(side, window=100) == [
                "pubrel 102",
                "publish 101 0 again",
                "publish 103 1 again",
                "publish 104 1 again",
            ]
            bench.arrive(side, 7)
            sent = await bench.sent(side)
            assert sent[0] == "pubrec 7"
            assert [each.rpartition(" ")[2] for each in sent[1:]] == [
                str(number) for number in range(2, 10) for _ in (1, 2)
            ]
            assert committer.receptions[side].repeats == 1


def test_the_newest_version_is_among_them() -> None:
    assert GOLDEN[-1].name == f"uplink-{len(MIGRATIONS_KNOWN)}.db"
