"""The brokers and clients of the system tests."""

from tests.system.fixtures import new_stage, pytest_runtest_makereport

__all__ = ["new_stage", "pytest_runtest_makereport"]
