"""What several tests of this room share: an identity provider that runs."""

from collections.abc import Iterator

import pytest

from tests.peers.identity_provider import IdentityProvider


@pytest.fixture
def provider() -> Iterator[IdentityProvider]:
    made = IdentityProvider()
    yield made
    made.stop()
