"""The uploader reports to be alive only while it works."""

import asyncio
import threading
from pathlib import Path

from gateway.uploader.main import serve
from tests.uploader.stage import DEADLINE_SECONDS, settings_in, until


async def test_an_export_that_fails_and_is_tried_again_is_alive(tmp_path: Path) -> None:
    reports: list[bool] = []

    def broken(sequence: int, bytes_max: int) -> list[bytes]:
        raise OSError("no journal today")

    stop = asyncio.Event()
    async with asyncio.TaskGroup() as tasks:
        tasks.create_task(
            serve(settings_in(tmp_path), broken, stop, alive=lambda: reports.append(True))
        )
        await until(lambda: len(reports) >= 2)
        stop.set()


def test_an_export_that_hangs_is_not_alive(tmp_path: Path) -> None:
    stands, goes_on = threading.Event(), threading.Event()
    reports: list[bool] = []

    def stuck(sequence: int, bytes_max: int) -> list[bytes]:
        stands.set()
        goes_on.wait(DEADLINE_SECONDS)
        return []

    async def run() -> None:
        stop = asyncio.Event()
        task = asyncio.create_task(
            serve(settings_in(tmp_path), stuck, stop, alive=lambda: reports.append(True))
        )
        await until(goes_on.is_set)
        stop.set()
        await task

    process = threading.Thread(target=lambda: asyncio.run(run()))
    process.start()
    assert stands.wait(DEADLINE_SECONDS)
    seen = len(reports)
    assert not goes_on.wait(0.3)
    assert len(reports) == seen
    goes_on.set()
    process.join(DEADLINE_SECONDS)
    assert not process.is_alive()
