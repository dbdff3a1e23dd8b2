"""Manages the bridge's ports and their tasks.

A port can be added or removed without interrupting the reading of other ports.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence

from firmware_bridge.serial.port import Port
from firmware_bridge.serial.settings import PortSettings
from gateway.process.files.queue_process import end_all


class Ports:
    """The ports that the bridge reads, one task each. Call all methods from one event loop."""

    def __init__(self, make: Callable[[PortSettings], Port], tasks: asyncio.TaskGroup) -> None:
        """Store the function that creates a port, and the task group in which ports run."""
        self._make = make
        self._tasks = tasks
        self._running: dict[str, tuple[PortSettings, Port, asyncio.Task[None]]] = {}
        self.settings: tuple[PortSettings, ...] = ()
        """Settings of the ports that are read, in the order of the configuration."""

    def __iter__(self) -> Iterator[Port]:
        """Iterate over the ports in the order of the configuration."""
        return iter([self._running[each.name][1] for each in self.settings])

    def __str__(self) -> str:
        """Return the names of the ports, separated by commas, or `none`."""
        return ", ".join(each.name for each in self.settings) or "none"

    def find(self, name: str) -> Port | None:
        """Return the port with this name, or None if it does not exist."""
        return next((each for each in self if each.name == name), None)

    async def replace(self, settings: Sequence[PortSettings]) -> None:
        """Stop and start ports so that exactly the ports in `settings` are read.

        A port whose settings have not changed is not interrupted.
        """
        wanted = {each.name: each for each in settings}
        ended = [name for name, (old, _, _) in self._running.items() if wanted.get(name) != old]
        # This is set before the first await, so that a status report shows the remaining ports.
        self.settings = tuple(each for each in self.settings if each.name not in ended)
        await end_all([self._running.pop(name)[2] for name in ended])
        for each in settings:
            if each.name not in self._running:
                port = self._make(each)
                self._running[each.name] = each, port, self._tasks.create_task(port.run())
        self.settings = tuple(settings)

    async def end(self) -> None:
        """Stop all ports, and wait until their tasks have finished."""
        await end_all([task for _, _, task in self._running.values()])
