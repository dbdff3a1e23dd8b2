"""`oncegate bench` at a terminal: output, files and exit codes."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest

from gateway.broker.wire.packets import Publish
from tests.system.broker_process import BrokerProcess, free_port
from tests.system.fixtures import running_broker
from tests.tools.bench.lying_broker import LyingBroker


@pytest.fixture(scope="module")
def broker() -> Iterator[BrokerProcess]:
    with running_broker() as broker:
        yield broker


def bench(*options: object, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("ONCEGATE_")}
    return subprocess.run(
        [sys.executable, "-m", "gateway.cli.main", "bench", *map(str, options)],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
        env=inherited | {"COLUMNS": "100", "NO_COLOR": "1"} | environment,
    )


def test_a_run_ends_with_a_table_a_picture_and_the_figures_as_json(
    broker: BrokerProcess, tmp_path: Path
) -> None:
    outcome = bench(
        *("--port", broker.port, "--broker-pid", broker.process_id, "--disk", tmp_path),
        *("--qos", 1, "--warm-up", 0.1, "--duration", 1),
        *("--json-file", tmp_path / "result.json", "--plot", tmp_path / "result.svg"),
    )
    assert outcome.returncode == 0, outcome.stderr
    for words in ("MQTT 3.1.1, QoS 1, 1 to 1, 64 bytes", "each once, in order", "fsync", "MiB"):
        assert words in outcome.stdout
    result = json.loads((tmp_path / "result.json").read_text())
    assert result["messages"]["received"] > 0
    assert result["faults"]["lost"] == 0
    assert result["fsync_ms"]["p50"] > 0
    picture = ElementTree.parse(tmp_path / "result.svg")  # noqa: S314 - our own
    assert len(picture.findall(".//{http://www.w3.org/2000/svg}polyline")) == 3
    assert list(tmp_path.glob("oncegate-bench-*")) == []


def test_json_on_standard_output_is_alone_there(broker: BrokerProcess) -> None:
    outcome = bench("--port", broker.port, "--count", 100, "--json")
    assert json.loads(outcome.stdout)["messages"] == {
        "sent": 100, "received": 100, "completed": 100
    }  # fmt: skip


def test_without_an_address_it_is_the_broker_of_the_configuration(broker: BrokerProcess) -> None:
    listeners = json.dumps([{"port": broker.port}])
    outcome = bench("--count", 10, ONCEGATE_LISTENERS=listeners)
    assert outcome.returncode == 0, outcome.stderr


def test_the_password_file_is_what_the_broker_asks_for(tmp_path: Path) -> None:
    users, password = tmp_path / "users", tmp_path / "password"
    subprocess.run(
        [sys.executable, "-m", "gateway.cli.main", "passwd", users, "loader"],
        check=True, input="secret\n", text=True, timeout=60, capture_output=True,
    )  # fmt: skip
    password.write_text("secret\n")
    password.chmod(0o600)
    settings = f'[access]\npassword_file = "{users}"\n'
    with running_broker(settings, listener_settings="anonymous = false") as closed:
        where = ("--port", closed.port, "--count", 10)
        outcome = bench(*where, "--username", "loader", "--password-file", password)
        assert outcome.returncode == 0, outcome.stderr
        refused = bench(*where)
    assert refused.returncode == 1
    assert "refused the connection: not authorized (0x05)" in refused.stderr


async def test_a_lost_message_makes_the_exit_code_3() -> None:
    def lose_one(number: int, message: Publish) -> list[Publish]:
        return [] if number == 5 else [message]

    async with LyingBroker(forward=lose_one) as liar:
        outcome = await asyncio.to_thread(bench, "--port", liar.port, "--count", 10)
    assert outcome.returncode == 3
    assert "1 lost" in outcome.stdout


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--mqtt", "4"], "expected 3.1.1 or 5.0"),
        (["--plot", "a.png"], "ends in .svg"),
        (["--qos", "7"], "QoS 7: expected 0 to 2"),
        (["--password-file", "missing"], "--password-file: missing"),
        (["--broker-pid", 1 << 30], "--broker-pid 1073741824: there is no such process"),
    ],
    ids=["version", "picture", "quality", "password", "process"],
)
def test_a_mistake_is_one_line_that_names_it(options: list[object], words: str) -> None:
    assert_is_named(bench(*options), words)


def test_that_no_broker_is_there_is_one_line_that_reports_it() -> None:
    assert_is_named(bench("--port", free_port()), "Connection refused: is the broker running?")


def assert_is_named(outcome: subprocess.CompletedProcess[str], words: str) -> None:
    assert outcome.returncode in (1, 2)
    assert outcome.stdout == ""
    assert len(outcome.stderr.strip().splitlines()) == 1
    assert words in outcome.stderr
