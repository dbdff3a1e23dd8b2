"""Fixture for all tests of access control: files with secrets are private."""

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def closed_files() -> Iterator[None]:
    """Make all files of a test readable by their owner only, as files with secrets must be."""
    before = os.umask(0o077)
    yield
    os.umask(before)
