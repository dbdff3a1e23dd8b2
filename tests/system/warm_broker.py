"""The real broker, killed and started again hundreds of times a minute."""

import contextlib
import signal
import time

from tests.system.broker_process import START_DEADLINE_SECONDS, BrokerProcess


class WarmBroker(BrokerProcess):
    """As `BrokerProcess`, with one socket for the readiness of all its lives, of which each ends as
    it is said to.
    """

    def __init__(self, settings: str | None = None) -> None:
        super().__init__(settings)
        self._readiness = self.notify_socket()

    def begin(self) -> None:
        """Start the broker and wait for nothing."""
        self._readiness.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while True:  # what lives before said
                self._readiness.recv(4096)
        self._readiness.settimeout(0.1)
        self.spawn({"NOTIFY_SOCKET": str(self._readiness.getsockname())})

    def await_readiness(self) -> None:
        """Wait for READY=1 of the life that was begun."""
        deadline = time.monotonic() + START_DEADLINE_SECONDS
        while time.monotonic() < deadline:
            try:
                if b"READY=1" in self._readiness.recv(4096).split(b"\n"):
                    return
            except TimeoutError:
                assert self.is_running, self.standard_error()
        raise AssertionError(f"the broker did not become ready: {self.standard_error()}")

    def strike(self) -> None:
        """Kill it with SIGKILL; raises AssertionError where it had ended by itself."""
        self.kill()
        assert self.exit_code == -signal.SIGKILL, self.standard_error()

    def cool_down(self) -> None:
        """Wait for no life any more; the broker has been killed, or goes on."""
        self._readiness.close()

    def remove(self) -> None:
        """End everything and remove the directory."""
        self.cool_down()
        super().remove()
