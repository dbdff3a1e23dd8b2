"""Access rules that a test sets, of the harness's broker."""

import pytest

from tests.broker.core.harness import Harness
from tests.broker.core.rules.permitting import Rules


@pytest.fixture
def rules(harness: Harness) -> Rules:
    made = Rules()
    harness.broker.restrict(made)
    return made
