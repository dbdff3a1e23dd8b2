"""Verdicts on single messages and deliveries, with the cases that both audits share."""

from __future__ import annotations

import pytest

from tests.audit_checks.cases import CASES, Case
from tests.cloud_jobs.conftest import Place

OF_LOWER_QOS = {"published-twice"}
"""Cases on messages that have no row: only `audit_daily` has their verdict."""


@pytest.fixture(scope="module")
def verdicts(golden: Place) -> list[tuple[str, str | None]]:
    """Return the gateway and the verdict of each message and each delivery."""
    tables = (golden.rows(name) for name in ("qos2_messages", "qos2_deliveries"))
    return [(row["gateway"], row["verdict"]) for rows in tables for row in rows]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.gateway)
def test_messages_and_deliveries_have_the_verdict_of_their_case(
    verdicts: list[tuple[str, str | None]], case: Case
) -> None:
    rows = [verdict for gateway, verdict in verdicts if gateway == case.gateway]
    assert None not in rows
    is_broken = case.verdict == "violation" and case.gateway not in OF_LOWER_QOS
    assert ("violation" in rows) is is_broken
    if case.verdict == "ok":
        assert set(rows) == {"ok"}
    elif case.checks - {"log"} and case.gateway not in OF_LOWER_QOS:
        assert case.verdict in rows
