"""The fixtures of the system tests serve the foreign clients too."""

from tests.system.fixtures import new_stage, pytest_runtest_makereport, shared_broker, stage

__all__ = ["new_stage", "pytest_runtest_makereport", "shared_broker", "stage"]
