"""Messages acknowledged before the backup of a real broker are delivered after the restore."""

import shutil
from pathlib import Path

import pytest

from tests.cli.command import oncegate
from tests.system.fixtures import running_broker
from tests.system.stage import Stage

pytestmark = pytest.mark.slow


async def test_a_queue_outlives_its_disk(tmp_path: Path) -> None:
    with running_broker("", data_directory=tmp_path / "var") as broker:
        config = str(broker.directory / "gateway.toml")
        async with Stage(broker, prefix="t") as stage:
            client = await stage.client("away", clean=False)
            await client.subscribe((stage.topic("x"), 2))
            await client.disconnect()
            await stage.deliver(stage.topic("x"), b"kept", qos=2)
            running = oncegate("backup", "b.tar.gz", "--data", "-c", config, directory=tmp_path)
            assert running.returncode == 1
            assert "the broker (process" in running.stderr
            assert broker.stop() == 0
            done = oncegate("backup", "b.tar.gz", "--data", "-c", config, directory=tmp_path)
            assert done.returncode == 0, done.stderr
            shutil.rmtree(tmp_path / "var")
            done = oncegate(
                "restore", "b.tar.gz", "--data", "--yes", "-c", config, directory=tmp_path
            )
            assert done.returncode == 0, done.stderr
            broker.start()
            again = await stage.client("away", clean=False)
            assert (await again.take()).payload == b"kept"
