"""The REST interface compared with its OpenAPI description by schemathesis."""

import asyncio
import sys
from pathlib import Path

import pytest

from tests.api.contract_broker import ContractBroker

STREAM = "/api/v1/events/stream"
"""A stream without an end, which schemathesis cannot test."""


BUSY = """\
[checks.not_a_server_error]
expected-statuses = ["2xx", "3xx", "4xx", "503"]
"""
"""A page on a busy machine may have too many questions to the broker open: a documented answer."""


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_every_answer_is_one_that_the_description_has(
    broker: ContractBroker, url: str, tmp_path: Path
) -> None:
    (tmp_path / "schemathesis.toml").write_text(BUSY)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "schemathesis.cli", "run", f"{url}openapi.json"),
        *("--phases=coverage,fuzzing", "--max-examples=5", "--generation-deterministic"),
        *("--exclude-path", STREAM, "--no-color"),
        cwd=tmp_path,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    output, _ = await process.communicate()
    # A URL that schemathesis tries may have 65,535 bytes.
    text = "\n".join(line[:200] for line in output.decode().splitlines())
    assert process.returncode == 0, text
    assert " generated, " in text, text
    assert " passed" in text, text
