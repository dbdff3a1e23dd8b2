"""Files that become a part of a backup."""

import os
from pathlib import Path

import pytest

from gateway.tools.backup import sources as module
from gateway.tools.backup.manifest import BackupRefused
from gateway.tools.backup.sources import Named, Sources
from tests.tools.backup.gateway_files import FILES, made_in, sources_of


def test_each_file_has_its_part_place_and_mode(tmp_path: Path) -> None:
    sources = sources_of(made_in(tmp_path))
    found = {member.name: member for member in sources.members}
    assert found["configuration/gateway.toml"].part == "configuration"
    assert found["configuration/passwords"].part == "users"
    assert found["data/gateway-id"].part == "identity"
    assert found["data/broker.db"].part == "data"
    assert {member.mode for member in sources.members} == {0o640}
    assert len(found) == len(FILES)
    (tmp_path / "var/broker.db").write_text("changed later")
    assert b"".join(sources.content_of(found["configuration/passwords"])) == b"anna:hash\n"


def test_locks_sockets_unfinished_files_and_files_of_others_are_left_out(tmp_path: Path) -> None:
    places = made_in(tmp_path)
    for name in (
        "broker.lock",
        "log/lock",
        "broker.db-shm",
        "a.partial",
        "mine.txt",
        "journal/x.part",
    ):
        (places.data_dir / name).write_text("x")
    (places.data_dir / "uploaded").mkdir()
    (places.data_dir / "uploaded/segment").write_text("x")
    assert len(sources_of(places).members) == len(FILES)


def test_tenants_have_data_and_keys_of_their_own(tmp_path: Path) -> None:
    places = made_in(tmp_path)
    for name in ("broker.db", "log/signing-key"):
        path = places.data_dir / "tenants/acme" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("acme's")
    parts = {member.path: member.part for member in sources_of(places).members}
    assert parts["tenants/acme/broker.db"] == "data"
    assert parts["tenants/acme/log/signing-key"] == "identity"


def test_a_file_is_in_it_once_and_one_from_elsewhere_has_a_number(tmp_path: Path) -> None:
    key = tmp_path / "ssl/key.pem"
    key.parent.mkdir()
    key.write_text("key")
    sources = Sources(tmp_path / "etc", tmp_path / "var")
    sources.add_named([Named("users", key), Named("users", key)])
    assert [member.name for member in sources.members] == ["elsewhere/1-key.pem"]


def test_the_nearest_folder_is_a_file_s_place(tmp_path: Path) -> None:
    (tmp_path / "var").mkdir()
    for path in (tmp_path / "var/passwords", tmp_path / "gateway.toml"):
        path.write_text("x")
    sources = Sources(tmp_path, tmp_path / "var")
    sources.add_named(
        [
            Named("configuration", tmp_path / "gateway.toml"),
            Named("users", tmp_path / "var/passwords"),
        ]
    )
    assert [each.name for each in sources.members] == [
        "configuration/gateway.toml",
        "data/passwords",
    ]


def test_a_named_file_that_is_missing_or_no_file_or_has_a_name_of_the_data(tmp_path: Path) -> None:
    places = made_in(tmp_path)
    os.mkfifo(tmp_path / "etc/fifo")
    for name, expected in (
        ("etc/none", "is named in the configuration and missing"),
        ("etc/fifo", "is no regular file"),
        ("var/broker.users", "has a name of the gateway's own data"),
    ):
        sources = Sources(places.configuration.parent, places.data_dir)
        with pytest.raises(BackupRefused, match=expected):
            sources.add_named([Named("users", tmp_path / name)])


def test_a_file_that_is_too_long_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FILE_BYTES_MAX", 5)
    with pytest.raises(BackupRefused, match="has more than 5 bytes: is it the right file"):
        sources_of(made_in(tmp_path))


def test_a_link_among_the_data_is_not_followed(tmp_path: Path) -> None:
    places = made_in(tmp_path)
    (places.data_dir / "journal/0002").symlink_to("/etc/hostname")
    with pytest.raises(OSError, match="is a link"):
        sources_of(places)
