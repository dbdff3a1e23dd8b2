"""Jobs that die at a step in this process, while their JVM continues to run as on a cluster."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from cloud_jobs.gold.run import update_gold
from cloud_jobs.main import ingest
from tests.cloud_jobs.conftest import Place


class Killed(BaseException):
    """Raised instead of the SIGKILL that test_crash.py sends. The job has no handler for it."""


def killed_at(step: str, run: Callable[[Callable[[str], None]], object]) -> None:
    """Call `run`, and kill it when this step is committed."""

    def die_after(committed: str) -> None:
        if committed == step:
            raise Killed

    with pytest.raises(Killed):
        run(die_after)


def ingested(place: Place, after_step: Callable[[str], None] = lambda _: None) -> None:
    ingest(place.spark, place.settings, lambda _: None, after_step)


def made_gold(place: Place, after_step: Callable[[str], None] = lambda _: None) -> None:
    update_gold(place.spark, place.settings.tables, lambda _: None, after_step=after_step)
