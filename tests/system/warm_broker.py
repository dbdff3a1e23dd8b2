"""The real broker, killed and restarted hundreds of times a minute."""

import contextlib
import signal
import time

from tests.system.broker_process import START_DEADLINE_SECONDS, BrokerProcess


class WarmBroker(BrokerProcess):
    """A `BrokerProcess` with one notification socket for all its starts.

    The caller decides how each run ends.
    """

    def __init__(self, settings: str | None = None) -> None:
        super().__init__(settings)
        self._readiness = self.notify_socket()

    def begin(self) -> None:
        """Start the broker without waiting for anything."""
        self._readiness.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:  # Discard the notifications of earlier runs.
                self._readiness.recv(4096)
        self._readiness.settimeout(0.1)
        self.spawn({"NOTIFY_SOCKET": str(self._readiness.getsockname())})

    def await_readiness(self) -> None:
        """Wait for READY=1 after `begin`."""
        deadline = time.monotonic() + START_DEADLINE_SECONDS
        while time.monotonic() < deadline:
            try:
                if b"READY=1" in self._readiness.recv(4096).split(b"\n"):
                    return
            except TimeoutError:
                assert self.is_running, self.standard_error()
        raise AssertionError(f"the broker did not become ready: {self.standard_error()}")

    def strike(self) -> None:
        """Kill the broker with SIGKILL. Raises AssertionError if it had ended by itself."""
        self.kill()
        assert self.exit_code == -signal.SIGKILL, self.standard_error()

    def cool_down(self) -> None:
        """Close the notification socket after the last start. A running broker continues."""
        self._readiness.close()

    def remove(self) -> None:
        """Kill the broker and remove its directory."""
        self.cool_down()
        super().remove()
