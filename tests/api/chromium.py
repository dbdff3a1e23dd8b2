"""A real Chromium, headless, driven over its debugging pipe.

The pipe speaks the DevTools protocol: JSON, each message ended by NUL.
"""

import asyncio
import base64
import contextlib
import itertools
import json
import os
import shutil
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

ANSWER_SECONDS_MAX = 30.0

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)


class Tab:
    """One tab of the browser.

    `complaints` has the messages of the console and of violated policies.
    """

    def __init__(self, reader: asyncio.StreamReader, write_to: int) -> None:
        self._reader = reader
        self._write_to = write_to
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._session: str | None = None
        self._loaded = asyncio.Event()
        self.complaints: list[str] = []

    async def open(self) -> None:
        target = await self.send("Target.createTarget", url="about:blank")
        attached = await self.send(
            "Target.attachToTarget", targetId=target["targetId"], flatten=True
        )
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            await self.send(f"{domain}.enable")

    async def send(self, method: str, **parameters: object) -> dict[str, Any]:
        number = next(self._numbers)
        message: dict[str, object] = {"id": number, "method": method, "params": parameters}
        if self._session is not None:
            message["sessionId"] = self._session
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        os.write(self._write_to, json.dumps(message).encode() + b"\0")
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            return await answer

    async def listen(self) -> None:
        with contextlib.suppress(asyncio.IncompleteReadError):  # The browser has ended.
            while True:
                self._receive(json.loads((await self._reader.readuntil(b"\0"))[:-1]))

    def _receive(self, message: dict[str, Any]) -> None:
        match message:
            case {"id": int(number)}:
                waiting = self._answers.pop(number)
                if not waiting.done():
                    assert "error" not in message, message
                    waiting.set_result(message["result"])
            case {"method": "Page.loadEventFired"}:
                self._loaded.set()
            case {"method": "Log.entryAdded", "params": {"entry": entry}}:
                self.complaints.append(f"{entry['text']} {entry.get('url', '')}")
            case {"method": "Runtime.exceptionThrown", "params": {"exceptionDetails": details}}:
                self.complaints.append(str(details))

    async def go(self, url: str) -> None:
        self.forget_load()
        await self.send("Page.navigate", url=url)
        await self.wait_for_load()

    def forget_load(self) -> None:
        self._loaded.clear()

    async def wait_for_load(self) -> None:
        async with asyncio.timeout(ANSWER_SECONDS_MAX):
            await self._loaded.wait()

    async def look(self, *, width: int, dark: bool = False, script: bool = True) -> None:
        await self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=900,
            deviceScaleFactor=1,
            mobile=False,
        )
        await self.send(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}],
        )
        await self.send("Emulation.setScriptExecutionDisabled", value=not script)

    async def evaluate(self, expression: str) -> Any:
        """Evaluate a JavaScript expression and return its value. A promise is awaited."""
        answer = await self.send(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    async def wait_until(self, condition: str) -> None:
        """Wait until a JavaScript condition holds.

        The browser evaluates it after each change of the page.
        """
        held = await self.evaluate(
            f"""new Promise((resolve) => {{
              const look = () => ({condition}) && (watcher.disconnect(), resolve(true));
              const watcher = new MutationObserver(look);
              watcher.observe(document, {{
                subtree: true, childList: true, characterData: true, attributes: true }});
              setTimeout(() => resolve(false), {int(ANSWER_SECONDS_MAX * 900)});
              look();
            }})"""
        )
        assert held, f"{condition} did not become true; the page shows: " + await self.evaluate(
            "document.body.innerText"
        )

    async def screenshot(self) -> bytes:
        answer = await self.send("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        return base64.b64decode(answer["data"])


@contextlib.asynccontextmanager
async def open_tab(profile: Path) -> AsyncIterator[Tab]:
    """Yield a tab of a fresh browser, which is killed at the end.

    Skips the test if Chromium is missing.
    """
    command = shutil.which("chromium")
    if command is None:
        pytest.skip("chromium is not installed (Debian package chromium)")
    commands_read, commands_write = os.pipe()
    answers_read, answers_write = os.pipe()
    # The DevTools protocol uses the descriptors 3 and 4. Only a shell can set them without running
    # Python between fork and exec.
    process = await asyncio.create_subprocess_exec(
        "bash",
        "-c",
        f'exec "$@" 3<&{commands_read} 4>&{answers_write}',
        "bash",
        command,
        *FLAGS,
        f"--user-data-dir={profile}",
        pass_fds=(commands_read, answers_write),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )
    os.close(commands_read)
    os.close(answers_write)
    reader = asyncio.StreamReader(limit=64 * 1024 * 1024)  # A screenshot is one message.
    pipe = os.fdopen(answers_read, "rb")
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), pipe
    )
    tab = Tab(reader, commands_write)
    listening = asyncio.create_task(tab.listen())
    try:
        await tab.open()
        yield tab
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        listening.cancel()
        transport.close()
        os.close(commands_write)
