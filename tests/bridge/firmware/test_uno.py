"""The Uno in simavr with the real bridge and broker, each of them killed.

`make kill-board` does it longer.
"""

import os
import random
import re

import pytest

from tests.bridge.firmware.killing import RECORDS_BETWEEN_KILLS, Campaign

KILLS = 2
FLASH_BYTES_MAX = 8192
RAM_BYTES_MAX = 1536
"""Largest size of the static data: of the 2,048 bytes of RAM the stack gets the remainder."""


@pytest.mark.slow
async def test_bridge_broker_and_board_killed_lose_and_double_nothing_by_the_board_s_numbers() -> (
    None
):
    seed = int(os.environ.get("ONCEGATE_TEST_SEED", random.randrange(2**32)))  # noqa: S311
    print(f"ONCEGATE_TEST_SEED={seed}")
    campaign = Campaign(seed)
    try:
        await campaign.run(KILLS)
    except BaseException:
        campaign.stop()
        raise
    assert campaign.account.is_whole(), campaign.summary()
    assert campaign.account.delivered >= KILLS * RECORDS_BETWEEN_KILLS / 2
    campaign.remove()
    flash, ram = re.findall(r"(?:Program|Data): +(\d+) bytes", campaign.size)
    assert int(flash) <= FLASH_BYTES_MAX
    assert int(ram) <= RAM_BYTES_MAX
