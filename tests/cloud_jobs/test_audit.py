"""The stories of the gateway's audit, told to Spark: the same verdicts and the same laws."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from cloud_jobs.audit.run import audited
from tests.audit.stories import STORIES
from tests.cloud_jobs.conftest import Place

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]  # the first test waits for Spark


@pytest.fixture(scope="module")
def result(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """All stories landed, ingested and audited in one go: gateways do not touch each other."""
    place = Place(spark, tmp_path_factory.mktemp("audit"))
    for story in STORIES:
        story.land(place.landing)
    place.run()
    return audited(spark, place.settings.tables, lambda _: None)


def test_every_story_has_the_verdict_and_the_laws_that_the_gateway_finds(
    result: dict[str, Any],
) -> None:
    found: dict[str, tuple[str, set[str]]] = {story.gateway: ("ok", set()) for story in STORIES}
    for one in result["exceptions"]:
        verdict, laws = found[one["gateway"]]
        worst = max(verdict, one["verdict"], key=("ok", "inconclusive", "violation").index)
        found[one["gateway"]] = (worst, laws | {one["law"]})
    expected = {story.gateway: (story.verdict, set(story.laws)) for story in STORIES}
    wrong = {
        name: (found[name], expected[name]) for name in expected if found[name] != expected[name]
    }
    assert not wrong, "\n".join(map(str, wrong.items()))


def test_an_exception_names_message_session_sequences_and_segment(result: dict[str, Any]) -> None:
    (one,) = [one for one in result["exceptions"] if one["gateway"] == "identifier-used-twice"]
    assert (one["message"], one["session"], one["client_id"]) == (2, 2, "client-2")
    assert one["sequences"] == [6, 9]
    assert one["segment"].startswith("identifier-used-twice.")


def test_the_worst_story_is_the_verdict_of_all(result: dict[str, Any]) -> None:
    assert result["verdict"] == "violation"
    assert result["violations"] + result["inconclusive"] == len(result["exceptions"])
