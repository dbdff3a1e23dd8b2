"""A data directory on a file system that has no Unix sockets."""

import tempfile

import pytest

from tests.instruments.powercut.away import exit_code_of
from tests.instruments.powercut.campaign import workplace
from tests.instruments.powercut.mounted_disk import MountedDisk
from tests.system.broker_process import BrokerProcess


@pytest.mark.slow
async def test_a_file_system_without_unix_sockets_is_named_with_the_key_that_mends_it(
    disk: MountedDisk,
) -> None:
    disk.switch_on(no_sockets=True)
    data_directory = workplace(disk.directory)
    broker = BrokerProcess("", data_directory=data_directory)
    try:
        broker.spawn()
        assert await exit_code_of(broker) != 0
        reported = broker.standard_error()
        assert f"{data_directory}/control.sock: Function not implemented" in reported
        assert "this file system has no Unix sockets; set [gateway] control_dir" in reported
        assert "Traceback" not in reported
        with tempfile.TemporaryDirectory(prefix="oncegate-") as control_dir:
            broker.replace_in_configuration(
                "[[listeners]]", f'control_dir = "{control_dir}"\n[[listeners]]'
            )
            broker.start()
            broker.stop()
    finally:
        broker.remove()
