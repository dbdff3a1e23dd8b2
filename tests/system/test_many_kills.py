"""The short version of `make kill`, whose code is in `killing`."""

import os
import time

import pytest

from tests.system.killing import Campaign

KILLS = 25


@pytest.mark.slow
@pytest.mark.timeout(180)
async def test_quick_kills_lose_nothing_that_the_broker_had_taken_up() -> None:
    seed = int(os.environ.get("ONCEGATE_TEST_SEED") or time.time_ns() % 1_000_000)
    print(f"ONCEGATE_TEST_SEED={seed}")
    campaign = Campaign(seed)
    try:
        await campaign.run(KILLS, lambda: None)
        print(campaign.log_agrees())
        print(dict(campaign.counts))
        assert campaign.is_whole(), campaign.counts
        assert campaign.counts["retained messages looked for"] >= 3
        assert campaign.counts["acknowledgements sent"]
    finally:
        campaign.broker.remove()
