"""What all tests of this room share: files with secrets."""

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def closed_files() -> Iterator[None]:
    """What a test writes is closed to others, as a file with secrets has to be."""
    before = os.umask(0o077)
    yield
    os.umask(before)
