"""The options that verbs share become a configuration, or a line for each mistake."""

from pathlib import Path

import pytest

from gateway.cli.failures import EXIT_CONFIGURATION, CommandFailed
from gateway.cli.options import configuration_of


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
