"""The manifest of a backup, as an attacker would write it."""

import json
from typing import Any

import pytest

from gateway.tools.backup import manifest as module
from gateway.tools.backup.manifest import BackupRefused, Manifest, Member, manifest_of


def member(**changed: Any) -> dict[str, Any]:
    fields = {
        "part": "users",
        "place": "configuration",
        "path": "passwords",
        "original": "/etc/oncegate/passwords",
        "bytes": 3,
        "sha256": "0" * 64,
        "mode": "0640",
        "owner": "root",
        "group": "oncegate",
    }
    return fields | changed


def document(*members: dict[str, Any], **changed: Any) -> bytes:
    fields = {
        "oncegate_backup": 1,
        "version": "oncegate 0.1.0",
        "made": "2026-11-27T09:30:00Z",
        "gateway": "gw-1",
        "configuration": None,
        "data_dir": "/var/lib/oncegate",
        "formats": {},
        "members": list(members),
    }
    return json.dumps(fields | changed).encode()


def test_a_manifest_is_read_as_it_was_written() -> None:
    written = Manifest(
        version="oncegate 0.1.0",
        made="2026-11-27T09:30:00Z",
        gateway="gw-1",
        configuration=None,
        data_dir="/var/lib/oncegate",
        formats={"store": 7},
        members=[
            Member(
                part="data",
                place="data",
                path="journal/0001",
                original="/var/lib/oncegate/journal/0001",
                size=9,
                sha256="f" * 64,
                mode=0o640,
                owner="oncegate-broker",
                group="",
            )
        ],
    )
    assert manifest_of(written.text().encode()) == written
    assert written.has_data


@pytest.mark.parametrize(
    "path",
    ["", "/etc/passwd", "../x", "a/../b", "a//b", "./a", "a/.", "a\nb", "a\\b", "a/", "\u202eb"],
)
def test_a_path_that_could_leave_its_folder_is_refused(path: str) -> None:
    with pytest.raises(BackupRefused, match=r"not allowed|no usable text"):
        manifest_of(document(member(path=path)))


@pytest.mark.parametrize(
    "changed",
    [
        {"part": "system"},
        {"place": "/etc"},
        {"bytes": -1},
        {"bytes": True},
        {"bytes": "3"},
        {"sha256": "0" * 63},
        {"sha256": None},
        {"mode": "0666"},
        {"mode": "4755"},
        {"mode": 416},
        {"owner": "root;"},
        {"group": "a" * 40},
        {"original": "x" * 2000},
        {"path": "x" * 401},
        {"path": "x" * 201},
        {"place": "data", "path": "gateway-id"},
        {"place": "data", "path": "journal/0001"},
        {"place": "data", "path": "tenants/a/broker.db"},
        {"part": "identity"},
        {"part": "data"},
        {"part": "data", "place": "elsewhere"},
        {"part": "data", "place": "data", "path": "passwords"},
        {"bytes": 17 << 20},
    ],
)
def test_a_member_that_is_not_as_a_backup_writes_it_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(BackupRefused):
        manifest_of(document(member(**changed)))


def test_the_members_of_these_tests_are_accepted_without_a_change() -> None:
    assert len(manifest_of(document(member())).members) == 1


def test_a_name_occurs_once_and_is_no_folder_of_another() -> None:
    with pytest.raises(BackupRefused, match="twice"):
        manifest_of(document(member(), member()))
    with pytest.raises(BackupRefused, match="both a file and a folder"):
        manifest_of(document(member(), member(path="passwords/x")))


@pytest.mark.parametrize(
    "content",
    [b"", b"{}", b"[]", b"\xff", b"[" * 100_000, b'{"oncegate_backup": "1"}', b"1"],
)
def test_another_document_is_no_manifest(content: bytes) -> None:
    with pytest.raises(BackupRefused, match="its manifest"):
        manifest_of(content)


def test_a_newer_format_is_refused_with_the_version_to_use() -> None:
    with pytest.raises(BackupRefused, match=r"up to 1: restore it with version oncegate 0\.1\.0"):
        manifest_of(document(oncegate_backup=2))


@pytest.mark.parametrize(
    "changed",
    [
        {"members": None},
        {"members": [1]},
        {"formats": []},
        {"formats": {"store": "7"}},
        {"gateway": "GW"},
        {"configuration": "gateway.toml"},
        {"made": None},
        {"version": "\x1b[31m"},
    ],
)
def test_a_manifest_with_a_wrong_value_is_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(BackupRefused):
        manifest_of(document(**changed))


def test_the_number_of_files_and_of_bytes_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    files = [member(path=f"f{number}", bytes=16 << 20) for number in range(5)]
    with pytest.raises(BackupRefused, match="bytes are too many"):
        manifest_of(document(*files))
    monkeypatch.setattr(module, "MEMBERS_MAX", 2)
    with pytest.raises(BackupRefused, match="at most 2 members"):
        manifest_of(document(*(member(path=f"f{number}") for number in range(3))))
