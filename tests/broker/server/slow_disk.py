"""A disk as slow as a test demands: real commits, which begin when the test permits it."""

import threading
import time
from typing import Self

import pytest

from gateway.broker.store.store import Store


class SlowDisk:
    """Delays commits for the duration of the block, and releases them at its end."""

    def __init__(self, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
        self._commit = store.fsync_commit
        self._let_go = threading.Event()
        self.waiting = threading.Event()
        """An event that is set once a commit waits for the permission of the test."""
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
