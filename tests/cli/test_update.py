"""`oncegate update`: on the card it hands over, elsewhere it states how that is updated."""

from pathlib import Path

import pytest

from tests.cli.command import oncegate

CARD = '#!/bin/sh\nprintf "<%s>" "$@"\nexit 7\n'


@pytest.fixture
def on_the_card(tmp_path: Path) -> str:
    """PATH with the card's own command in it."""
    command = tmp_path / "oncegate-device"
    command.write_text(CARD)
    command.chmod(0o755)
    return f"{tmp_path}:/usr/bin:/bin"


def test_on_the_card_its_own_command_takes_over_with_its_exit_code(
    tmp_path: Path, on_the_card: str
) -> None:
    outcome = oncegate("update", "a b.raucb", directory=tmp_path, PATH=on_the_card)
    assert (outcome.returncode, outcome.stdout) == (7, "<update><a b.raucb>")
    outcome = oncegate(
        "update", "--rollback-ends", "https://example.org/x", directory=tmp_path, PATH=on_the_card
    )
    assert outcome.stdout == "<update><--rollback-ends><https://example.org/x>"


def test_elsewhere_it_states_in_one_line_how_this_installation_is_updated(tmp_path: Path) -> None:
    outcome = oncegate("update", "x.raucb", directory=tmp_path, PATH="/usr/bin:/bin")
    assert outcome.returncode == 1
    assert outcome.stdout == ""
    assert outcome.stderr == (
        "oncegate update: this is not the SD card's system: update this installation with "
        "`pip install --upgrade 'oncegate[all]'`\n"
    )


def test_its_help_teaches_what_happens_and_shows_both_sources(tmp_path: Path) -> None:
    outcome = oncegate("update", "--help", directory=tmp_path)
    said = " ".join(outcome.stdout.split())
    for shown in (
        "oncegate update /media/stick/", "oncegate update https://", "--rollback-ends",
        "goes back to the slot of now by itself", "apt or pip", "systemctl reboot",
    ):  # fmt: skip
        assert shown in said, shown
