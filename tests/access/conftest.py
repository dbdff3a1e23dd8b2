"""What several tests of this room share: an identity provider that runs, and files with secrets."""

import os
from collections.abc import Iterator

import pytest

from tests.peers.identity_provider import IdentityProvider


@pytest.fixture(autouse=True)
def closed_files() -> Iterator[None]:
    """What a test writes is closed to others, as a file with secrets has to be."""
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.fixture
def provider() -> Iterator[IdentityProvider]:
    made = IdentityProvider()
    yield made
    made.stop()
