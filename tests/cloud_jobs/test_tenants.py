"""The segments of two tenants in one landing: one run of the ingest keeps them apart."""

import shutil
from collections.abc import Iterator

import pytest

from cloud_jobs.audit.run import audit_tables
from tests.cloud_jobs.conftest import Place
from tests.system.two_tenants import TENANTS, TwoTenants


@pytest.fixture
def tenants() -> Iterator[TwoTenants]:
    found = TwoTenants()
    try:
        yield found
    finally:
        found.remove()


@pytest.mark.long
async def test_one_run_of_the_ingest_keeps_the_tenants_of_one_landing_apart(
    tenants: TwoTenants, place: Place
) -> None:
    for name in TENANTS:
        client = await tenants.client(name, "pump", clean=False)
        await client.subscribe(("site/#", 2))
        await client.deliver("site/kept", f"of {name}".encode(), qos=2)
        await client.take()
        await client.disconnect()
    assert tenants.stop() == 0, tenants.output()
    acme = tenants.data / "tenants" / "acme" / "uploaded"
    shutil.copytree(acme, place.landing / "gw-1_acme")
    shutil.copytree(tenants.directory / "of-beta", place.landing / "gw-1_beta")
    report = place.run()
    assert [each.gateway for each in report.gateways] == ["gw-1_acme", "gw-1_beta"]
    assert (report.gaps_count, report.segments_quarantined) == (0, 0)
    for name, other in zip(TENANTS, reversed(TENANTS), strict=True):
        rows = place.rows("events", f"gateway = 'gw-1_{name}'")
        assert rows
        assert f"of {name}" in str(rows)
        assert f"of {other}" not in str(rows)
    findings = audit_tables(place.spark, place.settings.tables, lambda _: None)
    assert findings["verdict"] == "ok", findings
