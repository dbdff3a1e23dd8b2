"""The systemd units are valid, confined and ordered, and users and directories match them."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from firmware_bridge.protocols.table import PROTOCOLS

from gateway.configuration import load

ROOT = Path(__file__).resolve().parents[2]
SYSTEMD = ROOT / "image" / "systemd"
STOCK_UNITS = Path("/usr/lib/systemd/system")
SERVICES = ("broker", "bridge", "api", "upload", "uplink")
OF_TENANTS = ("broker@", "api@", "upload@", "uplink@")
UNITS = sorted(path.name for path in SYSTEMD.glob("oncegate*.*") if path.is_file())
# systemd's exposure level from 0 (best) to 10. docs/services.md has the figures.
EXPOSURE_MAX = 2.0
BACKOFF_SYSTEMD = 254
"""The first version of systemd that supports the keys in 20-backoff.conf."""


class UnitFile(dict[str, list[str]]):
    """Keys of a unit, each with all its values: a key may occur several times."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        for line in path.read_text().splitlines():
            key, found, value = line.partition("=")
            if found and not line.startswith("#"):
                self.setdefault(key, []).append(value)

    def words(self, key: str) -> set[str]:
        return set(" ".join(self.get(key, [])).split())


def unit(name: str) -> UnitFile:
    return UnitFile(SYSTEMD / f"oncegate-{name}.service")


def systemd_version() -> int:
    said = subprocess.run(
        ["systemd-analyze", "--version"], check=True, capture_output=True, text=True, timeout=60
    ).stdout
    return int(said.split()[1].partition(".")[0])


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a root directory with our units, systemd's own units, and a command for ExecStart."""
    root = tmp_path_factory.mktemp("root")
    units = root / "usr/lib/systemd/system"
    shutil.copytree(SYSTEMD, units, symlinks=True)
    for stock in (*STOCK_UNITS.glob("*.target"), *STOCK_UNITS.glob("*.slice")):
        shutil.copy(stock, units, follow_symlinks=True)
    if systemd_version() < BACKOFF_SYSTEMD:
        (units / "oncegate-.service.d/20-backoff.conf").unlink()
    (root / "usr/bin").mkdir(parents=True)
    for program in ("oncegate", "install", "rm", "systemctl"):
        shutil.copy("/bin/true", root / "usr/bin" / program)
    return root


def analyze(installed: Path, *arguments: str) -> str:
    outcome = subprocess.run(
        ["systemd-analyze", "--no-pager", "--man=no", f"--root={installed}", *arguments],
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=60,
    )
    assert outcome.returncode == 0, outcome.stdout
    return outcome.stdout


def test_systemd_finds_nothing_to_say_about_the_units(installed: Path) -> None:
    named = [name.replace("@.", "@acme.") for name in UNITS]
    assert analyze(installed, "verify", *named) == ""


def test_systemd_finds_a_mistake_in_a_unit(installed: Path) -> None:
    broken = installed / "usr/lib/systemd/system/broken.service"
    broken.write_text("[Service]\nExecStart=/usr/bin/oncegate\nNoNewPrivilege=yes\n")
    assert "NoNewPrivilege" in analyze(installed, "verify", broken.name)


@pytest.mark.parametrize(
    "name", [*SERVICES, "identity", "restart", "reboot", *(f"{name}acme" for name in OF_TENANTS)]
)
def test_a_service_is_exposed_to_little(installed: Path, name: str) -> None:
    shown = analyze(
        installed,
        "security",
        "--offline=true",
        f"--threshold={EXPOSURE_MAX * 10:g}",
        f"oncegate-{name}.service",
    )
    found = re.search(r"Overall exposure level for \S+: ([0-9.]+)", shown)
    assert found is not None
    assert float(found[1]) <= EXPOSURE_MAX


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_watched_and_started_again_and_waits_for_no_network(name: str) -> None:
    found = unit(name)
    assert found["Restart"] == ["always"]
    assert found["WatchdogSec"]
    assert found["User"] == [f"oncegate-{name}"]
    assert found["MemoryMax"]
    assert found["WantedBy"] == ["oncegate.target"]
    assert not {word for key in found for word in found.words(key) if "network" in word}


def test_the_stop_order_is_that_of_oncegate_up() -> None:
    # A unit that starts after another one stops before it: bridge and page, broker, uploader.
    assert "oncegate-broker.service" in unit("bridge").words("After")
    assert "oncegate-broker.service" in unit("api").words("After")
    assert "oncegate-broker.service" in unit("uplink").words("After")
    assert "oncegate-upload.service" in unit("broker").words("After")
    assert not unit("upload").words("After") & {f"oncegate-{name}.service" for name in SERVICES}


def test_the_broker_is_not_held_up_by_the_uploader() -> None:
    # With other types the broker would wait for the uploader: for its READY=1 (notify), or for its
    # mounts (exec: 5 s in the emulator).
    assert unit("upload")["Type"] == ["idle"]
    assert all(unit(name)["Type"] == ["notify"] for name in ("broker", "bridge", "api", "uplink"))


def test_the_uplink_runs_only_where_it_is_configured_and_knows_the_gateways_id() -> None:
    found = unit("uplink")
    assert "uplink --check" in found["ExecCondition"][0]
    assert found["LoadCredential"] == ["gateway-id:/var/lib/oncegate/gateway-id"]
    assert found["SetCredential"] == ["gateway-id:?"], "no id, and it starts all the same"


@pytest.mark.parametrize("name", OF_TENANTS)
def test_a_tenants_service_is_confined_as_the_gateways_and_sees_its_own_directories(
    name: str,
) -> None:
    own, gateways = unit(name), unit(name.removesuffix("@"))
    places = {"ExecStart", "ExecStartPre", "ExecReload", "ExecCondition", "EnvironmentFile"}
    places |= {"StateDirectory", "RuntimeDirectory", "RuntimeDirectoryMode"}
    places |= {"RuntimeDirectoryPreserve", "TemporaryFileSystem", "BindPaths"}
    places |= {"BindReadOnlyPaths", "Description", "After", "Wants", "ReadWritePaths"}
    differing = {key for key in own.keys() | gateways.keys() if own.get(key) != gateways.get(key)}
    assert differing <= places
    assert all("--tenant %i" in line for line in own["ExecStart"])
    hidden = own.words("TemporaryFileSystem") | own.words("InaccessiblePaths")
    assert {path.removesuffix(":ro") for path in hidden} >= {"/var/lib/oncegate", "/run/oncegate"}
    shown = own.words("BindPaths") | own.words("BindReadOnlyPaths")
    others = {path for path in shown if "/tenants/%i" not in path}
    assert others <= {"-/var/lib/oncegate/gateway-id"}
    assert not own.words("ReadWritePaths") - {"-/mnt", "-/media"}


def test_only_the_bridge_has_devices() -> None:
    for name in ("broker", "api", "upload", "uplink", "identity"):
        assert unit(name)["PrivateDevices"] == ["yes"]
        assert "DeviceAllow" not in unit(name)
    assert unit("bridge").words("SupplementaryGroups") >= {"dialout"}
    common = UnitFile(SYSTEMD / "oncegate-.service.d/10-all.conf")
    assert common["DevicePolicy"] == ["closed"]
    assert common["CapabilityBoundingSet"] == [""]


def test_users_and_the_data_directory_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    for command, name in (("systemd-sysusers", "sysusers"), ("systemd-tmpfiles", "tmpfiles")):
        create = ["--create"] if name == "tmpfiles" else []
        subprocess.run(
            [command, f"--root={tmp_path}", *create, SYSTEMD / f"{name}.conf"],
            check=True,
            timeout=30,
        )
    users = {
        line.split(":")[0]: line.split(":")[2]
        for line in (tmp_path / "etc/passwd").read_text().splitlines()
    }
    groups = {
        line.split(":")[0]: line.split(":")[2]
        for line in (tmp_path / "etc/group").read_text().splitlines()
    }
    for name in SERVICES:
        assert f"oncegate-{name}" in users
        wanted = unit(name).words("SupplementaryGroups") | unit(name).words("Group")
        assert wanted - {"dialout"} <= groups.keys()
    made = (tmp_path / "var/lib/oncegate").stat()
    assert made.st_mode & 0o7777 == 0o750
    assert str(made.st_uid) == users["oncegate-broker"]
    assert str(made.st_gid) == groups["oncegate"]


@pytest.mark.parametrize("name", ["restart", "reboot"])
def test_a_request_of_the_broker_starts_a_unit_that_reads_nothing_of_it(name: str) -> None:
    request = f"/run/oncegate/requests/{name}"
    assert UnitFile(SYSTEMD / f"oncegate-{name}.path")["PathExists"] == [request]
    assert f"oncegate-{name}.path" in UnitFile(SYSTEMD / "oncegate.target").words("Wants")
    removed, acts = unit(name)["ExecStart"]
    assert removed == f"/usr/bin/rm -f {request}", "otherwise it would be started again and again"
    assert name in acts.split()
    assert unit(name).words("PartOf") == set(), "it must not be stopped by what it starts"
    made = (SYSTEMD / "tmpfiles.conf").read_text()
    # Root without capabilities enters the directory through its group, in which no other service
    # is.
    assert "d /run/oncegate/requests 0770 oncegate-broker root -" in made


def test_the_configuration_that_comes_along_opens_nothing_to_the_network() -> None:
    configuration = load(ROOT / "image/etc/gateway.toml", {}, {}, None)
    assert [listener.bind for listener in configuration.listeners] == ["127.0.0.1"]
    assert configuration.api.bind == "127.0.0.1"
    assert configuration.gateway.data_dir == Path("/var/lib/oncegate")
    assert configuration.gateway.control_dir == Path("/run/oncegate")
    gateway = configuration.gateway
    groups = {gateway.control_group, gateway.status_group, gateway.operate_group}
    declared = re.findall(r"^g (\S+)", (SYSTEMD / "sysusers.conf").read_text(), re.MULTILINE)
    assert groups == set(declared)


def test_each_control_socket_is_reached_by_the_services_that_need_it_and_by_no_other() -> None:
    gateway = load(ROOT / "image/etc/gateway.toml", {}, {}, None).gateway
    groups = {gateway.control_group, gateway.status_group, gateway.operate_group}
    member_of = {
        name: unit(name).words("SupplementaryGroups") & groups for name in (*SERVICES, *OF_TENANTS)
    }
    for name in ("broker", "broker@"):
        assert member_of[name] == groups, "it gives its sockets to these groups"
    for name in ("api", "api@"):
        assert member_of[name] == {gateway.status_group, gateway.operate_group}
    for name in ("bridge", "upload", "upload@", "uplink", "uplink@"):
        assert gateway.operate_group not in member_of[name], name
        assert gateway.control_group in member_of[name], "it reports what it does"
    # Every user may enter the sockets' directory. The mode of each socket, 0660, decides about
    # access.
    assert unit("broker")["RuntimeDirectoryMode"] == ["0755"]
    assert "d /run/oncegate 0755 oncegate-broker" in (SYSTEMD / "tmpfiles.conf").read_text()
    # The page acts only through a socket and needs no access to the gateway's files.
    assert "/run/oncegate" not in unit("api").words("ReadWritePaths")


def test_the_examples_in_the_configuration_that_comes_along_can_be_used(tmp_path: Path) -> None:
    text = (ROOT / "image/etc/gateway.toml").read_text()
    whole = tmp_path / "gateway.toml"
    whole.write_text(re.sub(r"^#(?=[\[a-z])", "", text, flags=re.MULTILINE))
    configuration = load(whole, {}, {}, PROTOCOLS)
    assert configuration.serial[0].name == "gps"
    assert configuration.access.password_file is not None
    assert configuration.upload.target is not None


def test_every_service_of_the_documentation_exists() -> None:
    page = (ROOT / "docs/services.md").read_text()
    assert set(re.findall(r"`(oncegate[a-z-]*@?\.(?:service|target|path))`", page)) == set(UNITS)
