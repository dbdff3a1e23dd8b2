"""A short run of `make fill`."""

import tempfile
from pathlib import Path

import pytest

from tests.instruments.filling.campaign import DISK_BYTES, FillCampaign
from tests.small_disk import small_disk

FILLS = 2


@pytest.mark.slow
async def test_a_disk_that_others_fill_ends_no_process_and_costs_nothing_acknowledged() -> None:
    # The path must be short: a Unix socket's path has at most 108 bytes.
    with tempfile.TemporaryDirectory(prefix="oncegate-fill-") as name:
        directory = Path(name)
        with small_disk(directory / "d", DISK_BYTES) as disk:
            campaign = FillCampaign(disk, directory, seed=1)
            try:
                await campaign.run(FILLS, lambda: None)
            finally:
                campaign.remove()
    assert campaign.verdict.is_clean(), campaign.verdict
    assert campaign.verdict.acknowledged > 0
