"""`/metrics`, read back by the parsers of Prometheus' own library."""

import asyncio
import re
from pathlib import Path

import httpx
import pytest
from prometheus_client.openmetrics.parser import (
    text_string_to_metric_families as openmetrics_families,
)
from prometheus_client.parser import text_string_to_metric_families as prometheus_families

from api import limits
from tests.api import recorded
from tests.api.conftest import DEADLINE_SECONDS
from tests.api.contract_broker import ContractBroker

OPENMETRICS = "application/openmetrics-text; version=1.0.0"
# A page with 16 ports and all counters has about 500 series of about 80 bytes each.
SERIES_MAX = 2000
PAGE = Path(__file__).parents[3] / "docs" / "metrics.md"


def series_of(text: str, *, openmetrics: bool = False) -> dict[tuple[str, ...], float]:
    """Return the value of each sample by name and labels. Asserts that no sample occurs twice."""
    read = openmetrics_families if openmetrics else prometheus_families
    found: dict[tuple[str, ...], float] = {}
    for family in read(text):
        assert family.documentation, family.name
        for sample in family.samples:
            key = (sample.name, *(f"{name}={each}" for name, each in sorted(sample.labels.items())))
            assert key not in found
            found[key] = sample.value
    return found


async def test_counters_of_broker_bridge_and_uploader_are_read_back(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    answer = await client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=")
    series = series_of(answer.text)
    status, bridge, uploader = (
        recorded.status(), recorded.bridge_status(), recorded.uploader_status()
    )  # fmt: skip
    assert series["oncegate_connections_open",] == status["connections"]["open"]
    for qos in "012":
        received = series["oncegate_messages_received_total", f"qos={qos}"]
        assert received == status["messages"]["received"][f"qos{qos}"]
    assert series["oncegate_commits_total",] == status["journal"]["batches"]
    assert series["oncegate_disk_free_bytes",] == status["disk"]["free_bytes"]
    assert series["oncegate_outbox_published_total",] == bridge["outbox"]["published"]
    for port in bridge["ports"]:
        label = f"port={port['name']}"
        assert series["oncegate_port_bytes_total", label] == port["bytes"]
        assert series["oncegate_port_last_frame_timestamp_seconds", label] == (
            port["last_frame_ms"] / 1000
        )
    assert series["oncegate_port_damaged_total", "port=greenhouse", "reason=checksum"] == 2
    assert series["oncegate_port_left_out_total", "port=greenhouse", "reason=not_measured"] == 4
    assert series["oncegate_upload_sent_segments_total",] == uploader["sent"]["count"]
    assert series["oncegate_report_age_seconds", "process=bridge"] == 0.6


PROMETHEUS_3 = (
    "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,"
    "application/openmetrics-text;version=0.0.1;q=0.5,"
    "text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
)
PROMETHEUS_WITH_PROTOBUF = (
    "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;"
    "encoding=delimited;q=0.6,application/openmetrics-text;version=1.0.0;q=0.5,"
    "text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
)


@pytest.mark.parametrize(
    ("accept", "is_openmetrics"),
    [
        (PROMETHEUS_3, True),
        (PROMETHEUS_WITH_PROTOBUF, True),
        ("application/openmetrics-text", True),
        ("Application/OpenMetrics-Text; Version=1.0.0", True),
        # `scrape_protocols: [PrometheusText0.0.4, OpenMetricsText1.0.0]`
        ("text/plain;version=0.0.4;q=0.5,application/openmetrics-text;version=1.0.0;q=0.4", False),
        ("application/openmetrics-text;version=1.0.0;q=0,text/plain", False),
        ("application/openmetrics-text;version=0.0.1,text/plain;version=0.0.4;q=0.5", False),
        ("application/openmetrics-text;version=2.0.0,*/*;q=0.1", False),
        ("application/openmetrics-text;version=abc", False),
        ("text/plain;version=abc", False),
        ("*/*", False),
        ("text/html,application/xhtml+xml,*/*;q=0.8", False),
    ],
)
async def test_a_scraper_gets_the_format_that_it_prefers(
    client: httpx.AsyncClient, broker: ContractBroker, accept: str, is_openmetrics: bool
) -> None:
    answer = await client.get("/metrics", headers={"Accept": accept})
    assert answer.status_code == 200
    form = "application/openmetrics-text; version=1.0.0" if is_openmetrics else "text/plain; "
    assert answer.headers["content-type"].startswith(form)
    assert series_of(answer.text, openmetrics=is_openmetrics)


async def test_a_scraper_that_accepts_openmetrics_gets_the_same(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    plain = series_of((await client.get("/metrics")).text)
    answer = await client.get("/metrics", headers={"Accept": OPENMETRICS})
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    assert series_of(answer.text, openmetrics=True) == plain


async def test_the_number_of_series_is_bounded_whatever_is_reported(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    bridge = recorded.bridge_status()
    first = bridge["ports"][0]
    first["dropped"] = {f"reason {number}": number for number in range(1000)}
    bridge["ports"] += [{**bridge["ports"][1], "name": 'no "name"\n\\'} for _ in range(5)]
    bridge["ports"] += [{"name": number} for number in range(5)]
    broker.reports["bridge"]["status"] = bridge
    series = series_of((await client.get("/metrics")).text)
    assert len(series) < SERIES_MAX
    dropped = [key for key in series if key[0] == "oncegate_port_dropped_total"]
    assert len(dropped) == limits.METRIC_REASONS_MAX
    assert ("oncegate_port_bytes_total", 'port=no "name"\n\\') in series


async def test_every_family_is_in_the_page_and_no_other(
    client: httpx.AsyncClient, broker: ContractBroker
) -> None:
    report = {"time_ms": recorded.NOW_MS, "age_seconds": 0.5, "status": recorded.uplink_status()}
    broker.reports["uplink"] = report
    text = (await client.get("/metrics")).text
    families = {family.name for family in prometheus_families(text)}
    documented = set(re.findall(r"^\| `(oncegate_\w+)`", PAGE.read_text(), re.MULTILINE))
    assert families == {name.removesuffix("_total") for name in documented}


async def scraped(client: httpx.AsyncClient, *, up: int) -> dict[tuple[str, ...], float]:
    """Request the metrics until `oncegate_up` is `up`: the observer caches its last answer."""
    async with asyncio.timeout(DEADLINE_SECONDS):
        while True:
            series = series_of((await client.get("/metrics")).text)
            if series["oncegate_up",] == up:
                return series
            await asyncio.sleep(limits.ANSWER_REUSE_SECONDS)


async def test_without_a_broker_the_scrape_reports_that_it_is_down(
    url: str, status_socket: Path
) -> None:
    async with httpx.AsyncClient(base_url=url) as client:
        assert await scraped(client, up=0) == {("oncegate_up",): 0}
        async with ContractBroker(status_socket):
            await scraped(client, up=1)
        series = await scraped(client, up=0)
    names = {name for name, *_ in series}
    assert "oncegate_outbox_readings" in names
    assert "oncegate_sessions" not in names
    assert series["oncegate_report_age_seconds", "process=bridge"] > 0.6
