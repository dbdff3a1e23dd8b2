"""What the tests of alarms share."""

import pytest

from tests.api.alarms.gateway import Gateway


@pytest.fixture
def gateway() -> Gateway:
    return Gateway()
