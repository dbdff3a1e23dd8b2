"""`oncegate update`: on the card it runs the card's command, elsewhere it explains the update."""

import re
import sys
from pathlib import Path

import pytest

from gateway.cli.installation import update
from tests.cli.command import oncegate

CHECKOUT = Path(__file__).resolve().parents[3]
CARD = '#!/bin/sh\nprintf "<%s>" "$@"\nexit 7\n'


@pytest.fixture
def on_the_card(tmp_path: Path) -> str:
    """Return a PATH that contains the card's own command."""
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


def test_on_the_card_a_bundle_has_to_be_named(tmp_path: Path, on_the_card: str) -> None:
    outcome = oncegate("update", directory=tmp_path, PATH=on_the_card)
    assert (outcome.returncode, outcome.stdout) == (2, "")
    assert outcome.stderr == "oncegate update: name a .raucb file or its https:// address\n"


@pytest.mark.parametrize("bundle", [(), ("x.raucb",)])
def test_in_a_checkout_it_states_in_one_line_that_the_checkout_is_updated(
    tmp_path: Path, bundle: tuple[str, ...]
) -> None:
    outcome = oncegate("update", *bundle, directory=tmp_path, PATH="/usr/bin:/bin")
    assert outcome.returncode == 1
    assert outcome.stdout == ""
    assert outcome.stderr == (
        "oncegate update: this is not the SD card's system: update the checkout with "
        f"`git -C {CHECKOUT} pull`, and start it again\n"
    )


def test_a_package_a_container_and_a_wheel_are_updated_in_their_own_ways(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(update, "direct_url", lambda: {"archive_info": {}, "url": "file:///x.whl"})
    assert f"`{sys.prefix}/bin/pip install './oncegate-VERSION" in update.how_to_update()
    monkeypatch.setattr(update, "PACKAGE", Path(sys.prefix))
    monkeypatch.setattr(update, "CONTAINER_MARKS", ())
    assert "`apt install ./oncegate_VERSION_ARCHITECTURE.deb`" in update.how_to_update()
    mark = tmp_path / "containerenv"
    mark.touch()
    monkeypatch.setattr(update, "CONTAINER_MARKS", (mark,))
    assert "start the container from a newer image" in update.how_to_update()


def test_no_text_installs_a_package_by_our_name_alone() -> None:
    """Oncegate is not on a package index, so anyone could register the name there."""
    by_name = re.compile(r"pip3? install[^`\n]*[ '\"]oncegate(\[|['\"` ]|$)")
    folders = ("gateway", "firmware-bridge", "api", "cloud_jobs", "image", "docs")
    texts = [*CHECKOUT.glob("*.md"), *CHECKOUT.glob("Makefile")]
    texts += [each for folder in folders for each in (CHECKOUT / folder).rglob("*")]
    for each in texts:
        if each.suffix in (".py", ".md", ".html", ".toml", "") and each.is_file():
            assert not by_name.search(each.read_text(errors="replace")), each


def test_its_help_teaches_what_happens_and_shows_both_sources(tmp_path: Path) -> None:
    outcome = oncegate("update", "--help", directory=tmp_path)
    said = " ".join(outcome.stdout.split())
    for shown in (
        "oncegate update /media/stick/", "oncegate update https://", "--rollback-ends",
        "automatically returns to the old system", "Debian package, container image",
        "systemctl reboot",
    ):  # fmt: skip
        assert shown in said, shown
