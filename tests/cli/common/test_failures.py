"""The exit codes of all commands: one documented set of numbers. An error is one line."""

import re
from pathlib import Path

from gateway.cli.common import failures
from gateway.cli.common.failures import EXIT_CODES_TEXT, CommandFailed

ROOT = Path(__file__).resolve().parents[3]


def defined_codes() -> set[int]:
    return {number for name, number in vars(failures).items() if re.fullmatch(r"EXIT_[A-Z]+", name)}


def test_the_page_and_the_help_have_the_codes_that_the_code_has() -> None:
    page = (ROOT / "docs" / "commands.md").read_text()
    documented = re.findall(r"^\| (\d+) \|", page, re.MULTILINE)
    assert [int(code) for code in documented] == sorted(defined_codes())
    assert [int(code) for code in re.findall(r"\d+", EXIT_CODES_TEXT)] == sorted(defined_codes())


def test_no_verb_has_a_code_of_its_own() -> None:
    numbers = re.compile(r"(exit_code=|Exit\(|sys\.exit\()[0-9]")
    for module in sorted((ROOT / "gateway" / "cli").glob("*.py")):
        assert not numbers.search(module.read_text()), module.name


def test_a_failure_has_one_line_or_several_and_1_unless_it_states_otherwise() -> None:
    assert CommandFailed("a").lines == ("a",)
    failure = CommandFailed(["a", "b"], exit_code=4)
    assert (failure.lines, failure.exit_code, str(failure)) == (("a", "b"), 4, "a\nb")
    assert CommandFailed("a").exit_code == 1
