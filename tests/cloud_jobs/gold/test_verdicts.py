"""Verdicts of single messages and deliveries, by the cases that both audits share."""

from __future__ import annotations

import pytest

from tests.cloud_jobs.conftest import Place
from tests.laws.cases import CASES, Case

pytestmark = pytest.mark.long


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.gateway)
def test_messages_and_deliveries_have_the_verdict_of_their_case(golden: Place, case: Case) -> None:
    rows = [
        row["verdict"]
        for name in ("qos2_messages", "qos2_deliveries")
        for row in golden.rows(name, f"gateway = '{case.gateway}'")
    ]
    assert None not in rows
    assert ("violation" in rows) is (case.verdict == "violation")
    if case.verdict == "ok":
        assert set(rows) == {"ok"}
    elif case.laws - {"log"}:
        assert case.verdict in rows
