"""The directory of the configuration that is currently read."""

from pathlib import Path

from gateway.process.declarations.directory import CONFIGURATION_DIRECTORY, files_next_to


def test_the_directory_is_known_while_its_file_is_read_and_not_afterwards(tmp_path: Path) -> None:
    with files_next_to(tmp_path / "gateway.toml"):
        assert CONFIGURATION_DIRECTORY.get() == tmp_path
        with files_next_to(None):
            assert CONFIGURATION_DIRECTORY.get() is None
    assert CONFIGURATION_DIRECTORY.get() is None
