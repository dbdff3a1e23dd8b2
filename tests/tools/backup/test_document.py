"""`docs/formats/backup.md` agrees with the code that reads and writes backups."""

import json
import re
from dataclasses import fields
from pathlib import Path

from gateway.tools.backup import manifest as module
from gateway.tools.backup.manifest import FORMAT, PARTS, PLACES, Manifest, Member, manifest_of

PAGE = (Path(__file__).resolve().parents[3] / "docs/formats/backup.md").read_text()
EXAMPLE = PAGE.split("```json\n")[1].split("```")[0]


def test_the_example_is_a_manifest_and_is_written_as_it_stands() -> None:
    manifest = manifest_of(EXAMPLE.encode())
    assert manifest.text() == EXAMPLE
    assert json.loads(EXAMPLE)["oncegate_backup"] == FORMAT


def test_every_key_is_explained() -> None:
    explained = set(re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| (.*?) \|", PAGE, re.M))))
    written = json.loads(EXAMPLE)
    assert {*written, *written["members"][0]} - {"members"} <= explained


def test_the_page_has_every_part_and_place_and_the_limits() -> None:
    for name in (*PARTS, *PLACES):
        assert f"`{name}" in PAGE
    assert f"{module.MEMBERS_MAX:,} files" in PAGE
    assert f"at most {module.FILE_BYTES_MAX >> 20} MiB each" in PAGE
    assert f"{module.FILES_BYTES_MAX >> 20} MiB together" in PAGE
    assert f"at most {module.PATH_BYTES_MAX} bytes" in PAGE
    assert len(fields(Member)) + len(fields(Manifest)) == 16
