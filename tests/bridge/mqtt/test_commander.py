"""Commands from an MQTT 5.0 client through broker and bridge to a board, and the response back."""

import asyncio
import json
from pathlib import Path
from typing import Any

from tests.bridge.broker import DEADLINE_SECONDS, Mosquitto, Subscriber
from tests.bridge.running import port_of, running_bridge, settings_of
from tests.bridge.test_simulator import simulated_board

BOARD = "board-0000002a"


async def run(program: str, port: int, *words: str) -> bytes:
    """Run one of Mosquitto's clients with MQTT 5.0, and return its output."""
    process = await asyncio.create_subprocess_exec(
        program, "-V", "5", "-p", str(port), *words, stdout=asyncio.subprocess.PIPE
    )
    output, _ = await process.communicate()
    return output


async def ask(port: int, topic: str, payload: str) -> dict[str, Any]:
    """Send a command at QoS 0 until there is a response, and return the response."""
    words = ("-t", topic, "-m", payload, "-e", "answers/anna", "-W", "1")
    async with asyncio.timeout(DEADLINE_SECONDS):
        while not (output := await run("mosquitto_rr", port, *words)):
            pass
    answer: dict[str, Any] = json.loads(output)
    return answer


async def test_a_board_s_interval_is_set_and_the_client_is_answered(
    subscriber: Subscriber, tmp_path: Path
) -> None:
    link, port = tmp_path / "board", subscriber.port
    board = port_of("board", link, "board")
    settings = settings_of(tmp_path / "data", port, board, takes_commands=True)
    async with simulated_board(link, interval_seconds=3600.0), running_bridge(settings):
        await subscriber.arrival_of(3)
        expected = {"device": BOARD, "command": "identify", "result": "done"}
        assert await ask(port, f"commands/{BOARD}/identify", "500") == expected
        answer = await ask(port, f"commands/{BOARD}/set_interval", "0")
        assert answer == {"device": BOARD, "command": "set_interval", "error": "bad_argument"}
        assert (await ask(port, f"commands/{BOARD}/explode", "1"))["error"] == "unknown_command"
        assert (await ask(port, "commands/cellar/identify", "1"))["error"] == "away"
        assert (await ask(port, f"commands/{BOARD}/set_interval", "50"))["result"] == "done"
        await subscriber.arrival_of(30)


async def test_an_answer_is_never_written_where_the_client_may_not_write(
    mosquitto: Mosquitto, subscriber: Subscriber, tmp_path: Path
) -> None:
    settings = settings_of(tmp_path / "data", mosquitto.port, takes_commands=True)
    async with running_bridge(settings):
        await ask(mosquitto.port, f"commands/{BOARD}/identify", "1")
        response = ("-D", "publish", "response-topic", "sensors/forged/value")
        words = ("-t", f"commands/{BOARD}/identify", "-m", "1")
        await run("mosquitto_pub", mosquitto.port, *words, *response)
        await run("mosquitto_pub", mosquitto.port, *words)
        assert (await ask(mosquitto.port, f"commands/{BOARD}/identify", "1"))["error"] == "away"
        assert subscriber.messages == []
