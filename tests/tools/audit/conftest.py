"""Brokers and clients from the system tests."""

from tests.system.fixtures import new_stage, new_uploader, pytest_runtest_makereport

__all__ = ["new_stage", "new_uploader", "pytest_runtest_makereport"]
