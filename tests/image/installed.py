"""The Debian packages in booted Debians, from installation to purge; arm64 is emulated.

    make deb-test        builds them first; as root; ARGUMENTS="-k trixie" for one suite

`make test` does not collect it: it takes minutes and requires the packages that `make deb` has
built.
"""

import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.image.installed_gateway import DEADLINE_SECONDS, SERVICES, WATCHDOG_SECONDS, Gateway
from tests.image.installed_requests import asked, person, rebooting_in_vain
from tests.image.machine import Machine, make_root
from tests.image.packages import ROOT, SUITES, newer_than, package_of, run

WORK = ROOT / "build" / "deb"
PYTHON_BYTES_MAX = 90_000_000
DISK_BYTES = 96 << 20
# The machine is emulated, or busy with other work.
pytestmark = pytest.mark.timeout(1800)


@pytest.fixture(scope="module", params=SUITES)
def suite(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def gateway(suite: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """Boot one machine per suite. The tests of a suite use it in the order of the file."""
    machine = Machine(tmp_path_factory.mktemp(suite) / "root")
    make_root(suite, WORK / f"{suite}-machine.tar", machine.root)
    try:
        machine.start()
        yield Gateway(machine)
    finally:
        machine.remove()


@pytest.mark.parametrize("arch", ["arm64", "amd64"])
def test_lintian_finds_no_error(suite: str, arch: str) -> None:
    run("lintian", "--allow-root", "--fail-on=error", package_of(suite, arch))


def test_python_packages_are_small_and_bring_no_tool_that_builds(
    suite: str, tmp_path: Path
) -> None:
    for arch in ("arm64", "amd64"):
        tree = tmp_path / arch
        run("dpkg-deb", "--extract", package_of(suite, arch), tree)
        (site,) = tree.glob("usr/lib/oncegate/lib/python3.*/site-packages")
        names = {path.name.partition("-")[0] for path in site.iterdir()}
        assert not names & {"pip", "mypy", "mypyc", "setuptools", "hatchling", "uv", "tests"}
        assert names >= {"gateway", "firmware_bridge", "api", "cloud_jobs", "systemd", "obstore"}
        size = sum(path.lstat().st_size for path in site.rglob("*"))
        print(f"{suite} {arch}: Python packages {size / 1e6:.1f} MB")
        assert size < PYTHON_BYTES_MAX


def test_the_arm64_program_runs_compiled(suite: str, tmp_path: Path) -> None:
    root = tmp_path / "arm64"
    needs = "--include=python3,libsystemd0,ca-certificates"
    run("mmdebstrap", "--quiet", "--variant=extract", "--architectures=arm64", needs, suite, root)
    for name in ("lib", "bin"):
        if not (root / name).exists():
            (root / name).symlink_to(f"usr/{name}")
    run("dpkg-deb", "--extract", package_of(suite, "arm64"), root)
    shutil.copy("/usr/bin/qemu-aarch64-static", root / "usr/bin")
    emulated = ("chroot", root, "/usr/bin/qemu-aarch64-static", "/usr/lib/oncegate/bin/python3")
    said = run(*emulated, "-P", "/usr/lib/oncegate/bin/oncegate", "--version")
    form = r"oncegate 0\.1\.0 \(commit [0-9a-f]{12,}(-dirty)?, core: compiled\)\n"
    assert re.fullmatch(form, said)
    modules = "uvloop, obstore, systemd.daemon, argon2, cbor2, orjson, backports.zstd, httptools"
    compiled = "cobs.cobs._cobs_ext, pydantic_core, gmqtt, serial"
    run(*emulated, "-c", f"import {modules}, {compiled}, gateway.broker.core.broker")


def test_installed_it_runs_with_its_defaults(gateway: Gateway, suite: str) -> None:
    gateway.install(package_of(suite, "amd64"))
    gateway.wait_until_running()
    assert "compiled" in gateway.machine.said("oncegate", "--version")
    assert re.fullmatch(r"gw-[0-9a-f]{8}", gateway.machine.said("oncegate", "id"))
    for name, process in gateway.processes().items():
        owner = gateway.machine.said("stat", "-c", "%U", f"/proc/{process}")
        assert owner == f"oncegate-{name}"
    listening = gateway.machine.said("cat", "/proc/net/tcp", "/proc/net/tcp6")
    bound = re.findall(r"^\s*\d+: ([0-9A-F]+):[0-9A-F]{4} \S+ 0A", listening, re.MULTILINE)
    assert set(bound) == {"0100007F"}, "it listens on loopback alone"
    assert "rror" not in gateway.journal()


def test_a_message_goes_through_and_stays(gateway: Gateway) -> None:
    gateway.publish("sensors/cellar/temperature", "11.5")
    assert gateway.received("sensors/cellar/temperature") == "11.5"


def test_files_are_closed_to_others_and_each_service_has_its_part(gateway: Gateway) -> None:
    said = gateway.machine.said("stat", "-c", "%a %U:%G", "/var/lib/oncegate")
    assert said == "750 oncegate-broker:oncegate"
    found = gateway.machine.said("find", "/var/lib/oncegate", "-perm", "/o=rwx", "!", "-type", "l")
    assert found == ""
    owners = gateway.machine.said(
        "stat",
        "-c",
        "%n %U",
        *(
            f"/var/lib/oncegate/{name}"
            for name in ("broker.db", "bridge/outbox.db", "log", "uploaded", "gateway-id")
        ),
    )
    assert owners.splitlines() == [
        "/var/lib/oncegate/broker.db oncegate-broker",
        "/var/lib/oncegate/bridge/outbox.db oncegate-bridge",
        "/var/lib/oncegate/log oncegate-upload",
        "/var/lib/oncegate/uploaded oncegate-upload",
        "/var/lib/oncegate/gateway-id oncegate-broker",
    ]


def test_the_page_sees_its_own_history_alone_and_acts_for_operators_alone(gateway: Gateway) -> None:
    page = str(gateway.processes()["api"])
    as_page = ["nsenter", "-t", page, "-m", "--", "setpriv", "--reuid=oncegate-api"]
    as_page += ["--regid=oncegate-api", "--groups=oncegate,oncegate-operate"]
    assert gateway.machine.said(*as_page, "ls", "/var/lib/oncegate/").split() == ["history"]
    connect = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
    python = [*as_page, "/usr/bin/python3", "-c", connect]
    gateway.machine.said(*python, "/run/oncegate/status.sock")
    assert "PermissionError" in gateway.machine.said(
        *python, "/run/oncegate/control.sock", check=False
    )
    # Without operators in [api] the socket for requests from the page does not exist.
    operate = "/run/oncegate/operate.sock"
    assert "FileNotFoundError" in gateway.machine.said(*python, operate, check=False)


def test_with_operators_the_page_alone_reaches_where_it_acts(gateway: Gateway) -> None:
    machine, operate = gateway.machine, "/run/oncegate/operate.sock"
    with person(gateway, "operator"):
        mode = machine.said("stat", "-c", "%a %U %G", operate)
        assert mode == "660 oncegate-broker oncegate-operate"
        connect = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1])"
        for name, group in (("api", "operate"), ("bridge", "control"), ("upload", "control")):
            as_service = ["setpriv", f"--reuid=oncegate-{name}", f"--regid=oncegate-{name}"]
            as_service += [f"--groups=oncegate-{group}", "/usr/bin/python3", "-c", connect, operate]
            said = machine.said(*as_service, check=False)
            assert ("PermissionError" in said) is (name != "api"), said


def test_an_administrator_s_restart_is_carried_out_by_systemd(gateway: Gateway) -> None:
    with person(gateway, "administrator"), rebooting_in_vain(gateway):
        before = gateway.processes()
        assert asked(gateway, "reboot", "restart") == {"rebooted"}
        gateway.wait_for_other_processes(before)


def test_a_board_on_a_line_is_read(gateway: Gateway) -> None:
    machine = gateway.machine
    machine.said("install", "-d", "-o", "oncegate-bridge", "/run/board")
    machine.said(
        "systemd-run",
        "--unit=board",
        "--uid=oncegate-bridge",
        *("oncegate", "simulate-board", "/run/board/line"),
    )
    gateway.configure('\n[[serial]]\nname = "board"\npath = "/run/board/line"\n')
    machine.said("oncegate", "check-config")
    machine.said("systemctl", "restart", "oncegate-bridge")
    assert gateway.received("sensors/+/temperature")


def test_a_reload_takes_limits_and_refuses_a_mistake(gateway: Gateway) -> None:
    gateway.configure("\n[mqtt]\nmax_inflight = 7\n")
    gateway.machine.said("systemctl", "reload", "oncegate-broker")
    path = gateway.machine.root / "etc/oncegate/gateway.toml"
    good = path.read_text()
    path.write_text(good.replace("max_inflight", "max_inflght"))
    gateway.machine.said("systemctl", "reload", "oncegate-broker", check=False)
    assert "max_inflght" in gateway.journal()
    path.write_text(good)
    assert gateway.states()["broker"] == "active"


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_that_is_killed_comes_back(gateway: Gateway, service: str) -> None:
    before = gateway.processes()[service]
    gateway.machine.said("systemctl", "kill", "--signal=KILL", f"oncegate-{service}")
    deadline = time.monotonic() + DEADLINE_SECONDS
    while gateway.processes()[service] in (before, 0):
        assert time.monotonic() < deadline
        time.sleep(0.2)
    gateway.wait_until_running()


@pytest.mark.parametrize("service", SERVICES)
def test_a_service_that_hangs_is_ended_by_the_watchdog(gateway: Gateway, service: str) -> None:
    with gateway.short_watchdogs():
        before = gateway.processes()[service]
        time.sleep(2.5 * WATCHDOG_SECONDS)
        assert gateway.processes()[service] == before, "it is fed while it works"
        gateway.machine.said("systemctl", "kill", "--signal=STOP", f"oncegate-{service}")
        deadline = time.monotonic() + DEADLINE_SECONDS
        while gateway.processes()[service] in (before, 0):
            assert time.monotonic() < deadline
            time.sleep(0.2)


def test_a_full_disk_ends_no_service(gateway: Gateway) -> None:
    machine = gateway.machine
    gateway.stop()
    machine.said("mount", "-t", "tmpfs", "-o", f"size={DISK_BYTES}", "test", "/var/lib/oncegate")
    machine.said("systemd-tmpfiles", "--create", "oncegate.conf")
    with gateway.short_watchdogs():
        before = gateway.processes()
        gateway.publish("sensors/x", "before")
        fill = ("dd", "if=/dev/zero", "of=/var/lib/oncegate/ballast", "bs=64k")
        assert "No space left" in machine.said(*fill, check=False)
        time.sleep(3 * WATCHDOG_SECONDS)
        assert gateway.processes() == before
        assert "the disk is full" in gateway.journal()
        machine.said("rm", "/var/lib/oncegate/ballast")
        gateway.publish("sensors/x", "afterwards")
        assert gateway.received("sensors/x") == "afterwards"
        assert gateway.processes() == before
        gateway.stop()
        machine.said("umount", "/var/lib/oncegate")


def test_services_stop_in_the_order_of_oncegate_up_and_start_again(gateway: Gateway) -> None:
    gateway.stop()
    ended = gateway.stopped()[-len(SERVICES) :]
    assert set(ended[:2]) == {"bridge", "api"}
    assert ended[2:] == ["broker", "upload"]
    gateway.machine.said("systemctl", "start", "oncegate.target")
    gateway.wait_until_running()


def test_what_all_services_hold_in_memory(gateway: Gateway, suite: str) -> None:
    total = 0
    for name, process in gateway.processes().items():
        rollup = gateway.machine.said("cat", f"/proc/{process}/smaps_rollup")
        rss, pss = (
            int(re.search(rf"^{key}:\s+(\d+) kB", rollup, re.MULTILINE)[1])  # type: ignore[index]
            for key in ("Rss", "Pss")
        )
        total += pss
        print(f"{suite} {name}: {rss / 1e3:.0f} MB resident, {pss / 1e3:.0f} MB of its own")
    print(f"{suite}: {total / 1e3:.0f} MB together")
    assert total > 0


def test_an_upgrade_keeps_data_and_configuration_and_runs_the_new_version(
    gateway: Gateway, suite: str, tmp_path: Path
) -> None:
    before, identity = gateway.processes(), gateway.machine.said("oncegate", "id")
    gateway.install(newer_than(package_of(suite, "amd64"), tmp_path))
    gateway.wait_until_running()
    assert not set(before.values()) & set(gateway.processes().values())
    assert gateway.machine.said("oncegate", "id") == identity
    assert gateway.received("sensors/cellar/temperature") == "11.5"
    assert 'name = "board"' in gateway.machine.said("cat", "/etc/oncegate/gateway.toml")


def test_removing_leaves_data_and_configuration(gateway: Gateway) -> None:
    gateway.machine.said("systemctl", "stop", "board")
    gateway.machine.said("apt-get", "-y", "remove", "oncegate")
    assert set(gateway.states().values()) == {"inactive"}
    root = gateway.machine.root
    assert not (root / "usr/bin/oncegate").is_symlink()
    assert not (root / "usr/lib/oncegate").exists()
    assert (root / "var/lib/oncegate/broker.db").exists()
    assert (root / "etc/oncegate/gateway.toml").exists()


def test_installed_again_it_continues_with_its_data(gateway: Gateway, suite: str) -> None:
    gateway.install(package_of(suite, "amd64"))
    gateway.wait_until_running()
    assert gateway.received("sensors/cellar/temperature") == "11.5"


def test_purging_takes_everything_but_the_users(gateway: Gateway) -> None:
    gateway.machine.said("apt-get", "-y", "purge", "oncegate")
    root = gateway.machine.root
    for left in ("var/lib/oncegate", "etc/oncegate", "run/oncegate", "usr/lib/oncegate"):
        assert not (root / left).exists(), left
    links = gateway.machine.said("find", "/etc/systemd/system", "-name", "oncegate*")
    assert links == ""
    assert "oncegate-broker" in gateway.machine.said("cat", "/etc/passwd")
    assert gateway.machine.said("dpkg", "--audit") == ""
