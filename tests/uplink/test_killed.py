"""Delivery exactly once over an unreliable link and killed processes, in both directions at the
same time.

A second Oncegate as the upstream broker is killed too. Mosquitto loses its sessions at SIGKILL, so
in tests with Mosquitto only the uplink, this gateway's broker and the link are killed.
"""

import secrets

import pytest

from tests.uplink.killing import BROKEN, Campaign


async def run(campaign: Campaign, kills: int) -> None:
    try:
        await campaign.run(kills)
        assert campaign.is_whole(), campaign.summary()
        for way in campaign.ways:
            assert way.taken > 0, campaign.summary()
    finally:
        campaign.remove()


@pytest.mark.slow
async def test_nothing_is_lost_or_doubled_when_each_of_the_three_is_killed() -> None:
    campaign = Campaign(secrets.randbelow(1_000_000), cuts=5)
    await run(campaign, 6)
    assert campaign.kills == {"uplink": 2, "local": 2, "upstream": 2}


@pytest.mark.slow
@pytest.mark.parametrize("protocol", [5, 4])
async def test_nothing_is_lost_or_doubled_towards_mosquitto(protocol: int) -> None:
    campaign = Campaign(
        secrets.randbelow(1_000_000),
        mosquitto=True,
        victims=("uplink", "local"),
        cuts=5,
        protocol=protocol,
    )
    await run(campaign, 3)
    assert campaign.kills == {"uplink": 2, "local": 1}


@pytest.mark.slow
async def test_a_restarted_mosquitto_loses_nothing_and_doubles_only_what_it_repeats() -> None:
    campaign = Campaign(secrets.randbelow(1_000_000), mosquitto=True, victims=("upstream",))
    there, back = campaign.ways
    try:
        await campaign.run(1)
        assert not any(there.counts[what] for what in BROKEN), campaign.summary()
        # Mosquitto publishes again after PUBREL (docs/uplink.md).
        doubled = back.counts.pop("messages doubled")
        assert doubled <= len(campaign.repeated.messages), campaign.summary()
        assert not any(back.counts[what] for what in BROKEN), campaign.summary()
        assert there.taken > 0
        assert back.taken > 0
    finally:
        campaign.remove()
    assert campaign.kills == {"upstream": 1}
