"""Fixtures for the tests of alarms."""

import pytest

from tests.api.alarms.gateway import Gateway


@pytest.fixture
def gateway() -> Gateway:
    return Gateway()
