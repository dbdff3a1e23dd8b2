"""The Debian package as it is packed: contents, modes, control files.

The Python packages take minutes to compile and are left out here: `make deb-test` includes them.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.image.scripts import check_script

ROOT = Path(__file__).resolve().parents[2]
DEB = ROOT / "image" / "deb"
SITE = "./usr/lib/oncegate/lib/python{}/site-packages/"
SUITES = {"trixie": ("0.1.0~deb13", "3.13"), "bookworm": ("0.1.0~deb12", "3.11")}
SCRIPTS = sorted(DEB.glob("scripts/*")) + [
    DEB / name for name in ("build", "chroot", "in-chroot", "pack", "python-packages")
]


def output_of(*command: object) -> str:
    return subprocess.run(
        [str(each) for each in command], check=True, capture_output=True, text=True, timeout=60
    ).stdout


class Package:
    """A built package file."""

    def __init__(self, folder: Path, suite: str) -> None:
        self.suite = suite
        self.version, self.python = SUITES[suite]
        site = folder / "site-packages"
        site.mkdir()
        (site / "gateway.py").write_text("")
        (site / "gateway.py").chmod(0o600)
        output_of(sys.executable, DEB / "manual.py", folder / "share")
        self.path = folder / f"oncegate_{self.version}_arm64.deb"
        output_of(DEB / "pack", site, suite, "arm64", self.version, self.path)

    def members(self) -> dict[str, tuple[str, str, str]]:
        """Return mode, owner and link target of each file, by its path."""
        found = {}
        for line in output_of("dpkg-deb", "--contents", self.path).splitlines():
            mode, owner, _, _, _, path = line.split(maxsplit=5)
            path, _, target = path.partition(" -> ")
            found[path] = (mode, owner, target)
        return found

    def field(self, name: str) -> str:
        return output_of("dpkg-deb", "--field", self.path, name).strip()

    def unpack(self, folder: Path) -> Path:
        output_of("dpkg-deb", "--raw-extract", self.path, folder)
        return folder


@pytest.fixture(scope="module", params=SUITES)
def package(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Package:
    return Package(tmp_path_factory.mktemp(request.param), request.param)


def test_everything_belongs_to_root_and_no_other_user_may_write(package: Package) -> None:
    for path, (mode, owner, _) in package.members().items():
        assert owner == "root/root", path
        assert mode[0] == "l" or mode[5] == mode[8] == "-", f"{path}: {mode}"
        assert mode[0] == "l" or mode[7] == "r", f"{path} cannot be read: {mode}"
        assert "s" not in mode.lower(), f"{path}: {mode}"


def test_the_package_holds_units_users_configuration_and_program(package: Package) -> None:
    members = package.members()
    for source in (ROOT / "image/systemd").glob("oncegate*.*"):
        assert any(path.startswith(f"./usr/lib/systemd/system/{source.name}") for path in members)
    for path in (
        "./usr/lib/sysusers.d/oncegate.conf",
        "./usr/lib/tmpfiles.d/oncegate.conf",
        "./etc/oncegate/gateway.toml",
        "./usr/share/doc/oncegate/services.md",
        "./usr/share/doc/oncegate/access.md",
        "./usr/share/man/man1/oncegate.1.gz",
        "./usr/share/man/man1/oncegate-ctl-status.1.gz",
        "./usr/share/bash-completion/completions/oncegate",
        f"{SITE.format(package.python)}gateway.py",
    ):
        assert path in members
    assert members["./usr/bin/oncegate"][2] == "../lib/oncegate/bin/oncegate"
    assert members["./usr/lib/oncegate/bin/python3"][2] == f"/usr/bin/python{package.python}"
    assert not [path for path in members if path.startswith(("./var", "./run"))]


def test_only_the_suite_whose_systemd_knows_it_gets_the_growing_pause(package: Package) -> None:
    has_it = any("20-backoff.conf" in path for path in package.members())
    assert has_it == (package.suite == "trixie")


def test_dpkg_is_given_version_python_and_configuration(package: Package, tmp_path: Path) -> None:
    assert package.field("Package") == "oncegate"
    assert package.field("Architecture") == "arm64"
    assert package.field("Version") == package.version
    minor = int(package.python.partition(".")[2])
    assert f"python3 (>= 3.{minor}), python3 (<< 3.{minor + 1})" in package.field("Depends")
    assert int(package.field("Installed-Size")) > 0
    control = package.unpack(tmp_path / "raw") / "DEBIAN"
    assert (control / "conffiles").read_text() == "/etc/oncegate/gateway.toml\n"
    names = {line.split("  ")[1] for line in (control / "md5sums").read_text().splitlines()}
    files = {path[2:] for path, found in package.members().items() if found[0][0] == "-"}
    assert names == files - {"etc/oncegate/gateway.toml"}


def test_a_move_to_the_next_suite_is_an_upgrade() -> None:
    subprocess.run(
        ["dpkg", "--compare-versions", SUITES["bookworm"][0], "lt", SUITES["trixie"][0]],
        check=True,
        timeout=60,
    )


def test_the_version_is_that_of_the_project() -> None:
    found = re.search(r'^version = "(.*)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert found is not None
    assert {version.partition("~")[0] for version, _ in SUITES.values()} == {found[1]}


def test_two_packings_are_the_same_bytes(package: Package, tmp_path: Path) -> None:
    assert Package(tmp_path, package.suite).path.read_bytes() == package.path.read_bytes()


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_is_sound_and_ends_at_the_first_mistake(script: Path) -> None:
    check_script(script)


def test_a_suite_or_an_architecture_that_is_not_known_is_refused_in_one_line() -> None:
    outcome = subprocess.run(
        [DEB / "build", "sid", "arm64"], check=False, capture_output=True, text=True, timeout=60
    )
    assert (outcome.returncode, outcome.stderr) == (2, "sid: expected trixie or bookworm\n")


def test_the_scripts_name_every_unit_that_is_enabled() -> None:
    enabled = {
        path.name
        for path in (ROOT / "image/systemd").glob("oncegate*.*")
        # Templates are enabled by people, for each tenant.
        if path.is_file() and "@" not in path.name and "[Install]" in path.read_text()
    }
    for script in ("postinst", "prerm", "postrm"):
        named = re.findall(
            r"oncegate[\w-]*\.(?:service|target)", (DEB / "scripts" / script).read_text()
        )
        assert set(named) == enabled, script
