"""The files of a gateway that belong in a backup."""

from pathlib import Path

from gateway.broker.store.formats import FORMAT
from gateway.cli.common.options import configuration_of
from gateway.cli.installation.backup_files import files_of, formats_of_data, gateway_of
from tests.cli.installation.gateway import gateway_in


def test_the_configuration_names_the_files(tmp_path: Path) -> None:
    configuration = configuration_of(gateway_in(tmp_path))
    found = files_of(configuration)
    assert [(each.part, each.path.name) for each in found.named] == [
        ("configuration", "gateway.toml"),
        ("configuration", "gps.toml"),
        ("users", "users"),
        ("users", "upload.env"),
    ]
    assert found.excluded == ()
    assert gateway_of(configuration) == "gw-1"


def test_a_gateway_without_a_file_has_no_configuration_to_back_up(tmp_path: Path) -> None:
    configuration = configuration_of(None, gateway__data_dir=tmp_path)
    assert files_of(configuration).named == ()
    assert gateway_of(configuration) == ""
    assert list(tmp_path.iterdir()) == []


def test_each_format_of_the_data_has_its_number() -> None:
    formats = formats_of_data()
    assert formats["store"] == FORMAT
    assert all(number > 0 for number in formats.values())
