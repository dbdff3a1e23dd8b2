"""Fixtures of the system tests."""

from tests.system.fixtures import (
    gateway,
    new_stage,
    new_uploader,
    pytest_runtest_makereport,
    shared_broker,
    stage,
)

__all__ = [
    "gateway",
    "new_stage",
    "new_uploader",
    "pytest_runtest_makereport",
    "shared_broker",
    "stage",
]
