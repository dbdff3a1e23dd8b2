"""Debian's ser2net as a serial server."""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

SER2NET = "/usr/sbin/ser2net"
ACCEPTERS = {"tcp": "tcp", "rfc2217": "telnet(rfc2217),tcp"}


@contextlib.asynccontextmanager
async def ser2net(folder: Path, scheme: str, port: int, link: Path) -> AsyncIterator[None]:
    """Run ser2net with one port until the block ends, and then kill the process."""
    configuration = folder / "ser2net.yaml"
    configuration.write_text(
        f"connection: &one\n  accepter: {ACCEPTERS[scheme]},127.0.0.1,{port}\n"
        f"  connector: serialdev(nouucplock),{os.readlink(link)},115200n81,local\n"
        "  options:\n    kickolduser: true\n"
    )
    process = await asyncio.create_subprocess_exec(SER2NET, "-n", "-c", configuration)
    try:
        yield
    finally:
        process.kill()
        await process.wait()
