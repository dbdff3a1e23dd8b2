"""The fixtures of the system tests serve the foreign clients too."""

from tests.contract.mqtt_client.gmqtt_client import new_gmqtt_client
from tests.contract.mqtt_client.paho_client import new_paho_client
from tests.system.fixtures import new_stage, pytest_runtest_makereport, shared_broker, stage

__all__ = [
    "new_gmqtt_client",
    "new_paho_client",
    "new_stage",
    "pytest_runtest_makereport",
    "shared_broker",
    "stage",
]
