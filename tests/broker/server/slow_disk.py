"""A disk that takes as long as a test states: the real COMMIT, begun when it is let go."""

import threading
import time
from typing import Self

import pytest

from gateway.broker.store.store import Store


class SlowDisk:
    """Holds commits back while the block lasts, and lets them all go at its end."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self._commit = store.fsync_commit
        self._let_go = threading.Event()
        self.waiting = threading.Event()
        """A COMMIT has been asked for and does not come back."""
        monkeypatch.setattr(store, "fsync_commit", self._commit_slowly)

    def _commit_slowly(self) -> float:
        began = time.monotonic()
        self.waiting.set()
        self._let_go.wait()
        self._commit()
        return time.monotonic() - began

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._let_go.set()
