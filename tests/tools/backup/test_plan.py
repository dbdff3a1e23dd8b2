"""Comparison of a backup with this machine."""

from pathlib import Path

import pytest

from gateway.tools.backup.manifest import PARTS, BackupRefused, Manifest, Member
from gateway.tools.backup.plan import Places, checked, plan_of
from gateway.tools.backup.sources import Named
from tests.tools.backup.gateway_files import backup_of, made_in, manifest_with, sources_of


def test_files_are_new_the_same_or_replaced(tmp_path: Path) -> None:
    places = made_in(tmp_path)
    manifest = manifest_with(sources_of(places))
    (tmp_path / "etc/passwords").write_text("ben:hash\n")
    (tmp_path / "var/gateway-id").unlink()
    plan = plan_of(manifest, places, ("configuration", "users", "identity"))
    states = {step.path: step.state for step in plan.steps}
    assert states["gateway.toml"] == "same"
    assert states["passwords"] == "replaces"
    assert states["gateway-id"] == "new"
    assert sorted(step.path for step in plan.writes) == ["gateway-id", "passwords"]
    assert not plan.has_data


def test_with_data_all_of_it_is_written(tmp_path: Path) -> None:
    places = made_in(tmp_path)
    plan = plan_of(manifest_with(sources_of(places)), places, PARTS)
    assert {step.path for step in plan.writes} >= {"broker.db", "journal/0001", "log/signing-key"}
    assert "gateway-id" not in {step.path for step in plan.writes}


def test_files_from_elsewhere_are_for_hands(tmp_path: Path) -> None:
    places = made_in(tmp_path)
    sources = sources_of(places)
    key = tmp_path / "key.pem"
    key.write_text("key")
    sources.add_named([Named("users", key)])
    plan = plan_of(manifest_with(sources), places, PARTS)
    assert [each.original for each in plan.elsewhere] == [str(key)]
    assert key not in [step.target for step in plan.steps]


@pytest.mark.parametrize("path", ["var/broker.db", "var/gateway-id", "link/broker.db"])
def test_configuration_does_not_replace_data(tmp_path: Path, path: str) -> None:
    (tmp_path / "var").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "var")
    member = Member(
        part="users",
        place="configuration",
        path=path,
        original="/x",
        size=0,
        sha256="0" * 64,
        mode=0o600,
        owner="",
        group="",
    )
    manifest = Manifest(
        version="x", made="x", gateway="", configuration=None, data_dir="x", members=[member]
    )
    with pytest.raises(BackupRefused, match="would replace data of the gateway"):
        plan_of(manifest, Places(tmp_path / "gateway.toml", tmp_path / "var"), PARTS)


def test_a_whole_backup_is_checked_before_anything_else(tmp_path: Path) -> None:
    file = tmp_path / "backup.tar.gz"
    content = backup_of(made_in(tmp_path))
    file.write_bytes(content)
    assert checked(file).gateway == "gw-1"
    file.write_bytes(content[:-9])
    with pytest.raises(BackupRefused, match=r"backup\.tar\.gz: it is damaged or cut off"):
        checked(file)
