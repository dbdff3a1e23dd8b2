"""Options that several commands share become a configuration, or one line for each mistake."""

from pathlib import Path

import pytest
import typer

from gateway.cli.common.failures import EXIT_CONFIGURATION, CommandFailed
from gateway.cli.common.options import GatewayOptions, TablesOptions, configuration_of, with_sets


def test_options_that_were_not_given_change_nothing(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text("[api]\nport = 8090\n[gateway]\ndata_dir = '/srv/x'\n")
    configuration = configuration_of(file, api__port=None, gateway__data_dir=tmp_path)
    assert configuration.api.port == 8090
    assert configuration.gateway.data_dir == tmp_path


def test_every_mistake_is_a_line_of_one_failure(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text("[mqtt]\nmax_inflight = -1\nx = 1\n")
    with pytest.raises(CommandFailed) as failure:
        configuration_of(file, api__port=99999)
    assert len(failure.value.lines) == 3
    assert failure.value.exit_code == EXIT_CONFIGURATION


def test_a_set_of_options_is_one_parameter_of_the_verb_and_an_option_for_each_field(
    tmp_path: Path,
) -> None:
    made: list[tuple[str, int, GatewayOptions]] = []
    application = typer.Typer()

    @application.command()
    @with_sets
    def verb(name: str, *, count: int = 1, gateway: GatewayOptions) -> None:
        """Record the arguments."""
        made.append((name, count, gateway))

    application(["x", "--data-dir", str(tmp_path), "--json"], standalone_mode=False)
    application(["y", "--count", "2", "--tenant", "acme"], standalone_mode=False)
    assert made == [
        ("x", 1, GatewayOptions(data_dir=tmp_path, as_json=True)),
        ("y", 2, GatewayOptions(tenant="acme")),
    ]


def test_tables_are_below_the_data_directory_unless_named(tmp_path: Path) -> None:
    assert TablesOptions(data_dir=tmp_path).root == f"{tmp_path}/tables"
    assert TablesOptions(data_dir=tmp_path, tables="s3://bucket/x").root == "s3://bucket/x"
