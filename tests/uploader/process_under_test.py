"""A complete exporter and uploader as a process of its own, which a test kills.

   python process_under_test.py DATA_DIR

It reads the journal in DATA_DIR as `oncegate upload` does, seals every few milliseconds and runs
until SIGTERM.
"""

from __future__ import annotations

import asyncio
import signal
import sys
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from gateway.broker.store.journal_reader import JournalReader
from gateway.uploader.main import serve
from tests.uploader.stage import settings_in


async def main() -> None:
    data_dir = Path(sys.argv[1])
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    settings = replace(
        settings_in(data_dir), seal_after_seconds=0.02, poll_seconds=0.002, sent_bytes_keep=20_000
    )
    await serve(settings, JournalReader(data_dir).blobs_after, stop)


if __name__ == "__main__":
    asyncio.run(main())
