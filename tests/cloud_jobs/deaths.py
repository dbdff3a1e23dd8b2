"""Jobs that die at a step, in this process: their JVM goes on, as it does on a cluster."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cloud_jobs.gold.run import gold
from cloud_jobs.main import ingest
from tests.cloud_jobs.conftest import Place


class Killed(BaseException):
    """In place of SIGKILL, which test_crash.py sends: nothing of a job handles it."""


def killed_at(step: str, run: Callable[[Callable[[str], None]], object]) -> None:
    """A run that ends when this step is committed."""

    def die_after(committed: str) -> None:
        if committed == step:
            raise Killed

    with pytest.raises(Killed):
        run(die_after)


def ingested(place: Place, after_step: Callable[[str], None] = lambda _: None) -> None:
    ingest(place.spark, place.settings, lambda _: None, after_step)


def made_gold(place: Place, after_step: Callable[[str], None] = lambda _: None) -> None:
    gold(place.spark, place.settings.tables, lambda _: None, after_step=after_step)
