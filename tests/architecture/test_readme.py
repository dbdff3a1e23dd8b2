"""Commands and settings in README.md exist."""

import re
from pathlib import Path

import pytest
from firmware_bridge.protocols.table import PROTOCOLS
from typer.testing import CliRunner

from gateway.cli.application import application_of
from gateway.configuration import load

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()


def commands_of(program: str) -> list[str]:
    return sorted(set(re.findall(rf"(?:^|[`/]){program} ([a-z][a-z-]+)", README, re.MULTILINE)))


@pytest.mark.parametrize("verb", commands_of("oncegate"))
def test_a_verb_in_the_readme_exists(verb: str) -> None:
    assert CliRunner().invoke(application_of(), [verb, "--help"]).exit_code == 0


@pytest.mark.parametrize("target", commands_of("make"))
def test_a_make_target_in_the_readme_exists(target: str) -> None:
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.parametrize("page", sorted(set(re.findall(r"\]\(([^):]+)\)", README))))
def test_a_page_that_the_readme_points_to_exists(page: str) -> None:
    assert (ROOT / page).is_file()


def test_the_configuration_in_the_readme_can_be_used(tmp_path: Path) -> None:
    example = re.search(r"```toml\n(.*?)```", README, re.DOTALL)
    assert example is not None
    (tmp_path / "gateway.toml").write_text(example[1])
    assert load(tmp_path / "gateway.toml", {}, {}, PROTOCOLS).serial[0].name == "gps"
