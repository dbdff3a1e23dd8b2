"""The container, run by podman: delivery after SIGKILL, users, health checks, orderly stop.

    make container-test               builds it first, for this machine; as root
    make container-test ARCH=arm64    the other architecture, with programs run by QEMU

`make test` does not collect it: it takes minutes and requires the result of `make container`.
"""

import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.image.engine import HERE, STOP_SECONDS, USER, Engine
from tests.image.packages import ROOT, run

DEADLINE_SECONDS = 120.0
TOPIC = "users/cellar/temperature"
"""A topic that users may publish to.

Only the bridge publishes below `sensors/`, and a client of MQTT 3.1.1 would not see the refusal.
"""
CONFIGURATION = """\
[[listeners]]
bind = "0.0.0.0"
anonymous = false

[access]
password_file = "/etc/oncegate/passwords"

[bridge]
username = "bridge"
password_file = "/etc/oncegate/bridge-password"

[api]
bind = "0.0.0.0"
allow_anonymous_network = true
"""
pytestmark = pytest.mark.timeout(900)


@pytest.fixture(scope="module")
def archive() -> Path:
    arch = os.environ.get("ONCEGATE_CONTAINER_ARCH") or run("dpkg", "--print-architecture").strip()
    (path,) = (ROOT / "dist").glob(f"oncegate-*-{arch}.oci.tar")
    return path


@pytest.fixture(scope="module")
def engine(archive: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    engine = Engine(tmp_path_factory.mktemp("podman"), archive)
    yield engine
    engine.remove()


@pytest.fixture
def options(engine: Engine, tmp_path: Path) -> Iterator[tuple[str, ...]]:
    """Create a volume and a configuration with the users `cellar` and `bridge`.

    Yield the options that mount both.
    """
    settings = tmp_path / "oncegate"
    settings.mkdir()
    (settings / "gateway.toml").write_text(CONFIGURATION)
    (settings / "bridge-password").write_text("of the bridge\n")
    (settings / "bridge-password").chmod(0o600)
    run("chown", "-R", f"{USER}:{USER}", settings)
    for user in ("cellar", "bridge"):
        engine.said(
            *("run", "--rm", "--interactive", "--network=none", "--cap-drop=all", "--read-only"),
            *HERE,
            f"--volume={settings}:/etc/oncegate",
            engine.image,
            *("passwd", "/etc/oncegate/passwords", user, "--password-stdin"),
            stdin=f"of the {user}\n",
        )
    engine.said("volume", "create", "oncegate")
    yield (
        "--volume=oncegate:/var/lib/oncegate",
        f"--volume={settings}:/etc/oncegate:ro",
        "--publish=127.0.0.1::1883",
        "--publish=127.0.0.1::8080",
    )
    engine.said("rm", "--force", "--ignore", "--time=0", engine.container)
    engine.said("volume", "rm", "oncegate")


def wait_until_healthy(engine: Engine) -> None:
    """Wait until the broker answers; the other processes may still be starting."""
    _wait(engine, engine.is_healthy)


def _wait(engine: Engine, condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + DEADLINE_SECONDS
    while not condition():
        assert engine.state()["Running"], engine.log()
        assert time.monotonic() < deadline, engine.log()
        time.sleep(0.5)


def client(
    engine: Engine, program: str, *arguments: str, user: str | None = "cellar"
) -> subprocess.CompletedProcess[str]:
    """Run one of Mosquitto's clients on this machine, outside the container."""
    credentials = ("-u", user, "-P", f"of the {user}") if user is not None else ()
    return subprocess.run(
        [program, "-h", "127.0.0.1", "-p", engine.port(1883), *credentials, *arguments],
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=DEADLINE_SECONDS,
    )


def watched(engine: Engine, *more: str) -> str:
    """Return the messages that were queued in the persistent session `watcher`."""
    session = ("-i", "watcher", "-c", "-q", "2", "-t", TOPIC)
    return client(engine, "mosquitto_sub", *session, *more).stdout


def test_a_message_outlives_sigkill_and_arrives_once(
    engine: Engine, options: tuple[str, ...]
) -> None:
    engine.start(*options)
    wait_until_healthy(engine)
    assert watched(engine, "-E") == ""
    # MQTT 5.0 reports the reason for a refusal.
    message = ("-V", "5", "-q", "2", "-t", TOPIC, "-m", "11.5")
    published = client(engine, "mosquitto_pub", *message)
    assert (published.returncode, published.stdout) == (0, "")
    engine.said("kill", "--signal=KILL", engine.container)
    assert engine.said("wait", engine.container) == "137"
    engine.start(*options)
    wait_until_healthy(engine)
    assert watched(engine, "-W", "5").splitlines()[:1] == ["11.5"]
    assert "11.5" not in watched(engine, "-W", "5")


def test_who_has_no_password_is_refused(engine: Engine, options: tuple[str, ...]) -> None:
    engine.start(*options)
    wait_until_healthy(engine)
    publish = ("-q", "2", "-t", TOPIC, "-m", "0")
    assert "not authorised" in client(engine, "mosquitto_pub", *publish, user=None).stdout
    stranger = client(engine, "mosquitto_pub", *publish, user="stranger").stdout
    assert "bad user name or password" in stranger
    assert client(engine, "mosquitto_pub", *publish).returncode == 0


def test_sigterm_is_an_orderly_stop(engine: Engine, options: tuple[str, ...]) -> None:
    engine.start(*options)
    wait_until_healthy(engine)
    began = time.monotonic()
    engine.said("stop", engine.container)
    assert time.monotonic() - began < STOP_SECONDS
    assert engine.state()["ExitCode"] == 0
    lines = engine.log().splitlines()
    # The messages of the four processes are between the two of the supervisor.
    own = [line for line in lines if line.startswith("oncegate: ")]
    assert own[-2:] == [
        "oncegate: stopping ...",
        "oncegate: stopped; the next start continues from here",
    ]
    assert lines[-1] == own[-1]
    volume = Path(engine.inspected("volume", "oncegate")["Mountpoint"])
    assert list((volume / "uploaded").glob("*.jsonl.zst")), "the last events are in a segment"


def test_everything_in_the_volume_is_its_users_and_closed_to_others(
    engine: Engine, options: tuple[str, ...]
) -> None:
    engine.start(*options)
    wait_until_healthy(engine)
    _wait(engine, lambda: "bridge started" in engine.log())
    volume = Path(engine.inspected("volume", "oncegate")["Mountpoint"])
    found = [volume, *volume.rglob("*")]
    assert {"broker.db", "outbox.db", "gateway-id", "log"} <= {path.name for path in found}
    for path in found:
        status = path.lstat()
        assert (status.st_uid, status.st_gid) == (USER, USER), path
        assert path.is_symlink() or not status.st_mode & 0o007, path


def test_no_process_in_it_is_root_and_its_log_is_on_stdout(
    engine: Engine, options: tuple[str, ...]
) -> None:
    engine.start(*options)
    wait_until_healthy(engine)
    processes = engine.processes().values()
    assert len(processes) >= 5, "the supervisor and its four"
    assert {user for user, _ in processes} == {USER}
    errors = subprocess.run(
        [*engine.podman, "logs", engine.container], check=True, capture_output=True, text=True
    )
    assert errors.stderr == ""
    assert "oncegate: runs; the broker listens on 0.0.0.0 port 1883" in errors.stdout
    assert "simulated" not in errors.stdout


def test_the_page_answers_where_it_is_published(engine: Engine, options: tuple[str, ...]) -> None:
    engine.start(*options)
    wait_until_healthy(engine)
    page = f"http://127.0.0.1:{engine.port(8080)}"
    assert httpx.get(f"{page}/readyz", timeout=DEADLINE_SECONDS).status_code == 200
    assert "Oncegate" in httpx.get(f"{page}/", timeout=DEADLINE_SECONDS).text


def test_by_default_nothing_is_reached_from_outside(
    engine: Engine, options: tuple[str, ...]
) -> None:
    volume, _, *ports = options
    engine.start(volume, *ports)
    wait_until_healthy(engine)
    for port in (1883, 8080):
        with pytest.raises(httpx.TransportError):
            httpx.get(f"http://127.0.0.1:{engine.port(port)}/readyz", timeout=5)
    assert "only this machine can reach the broker" in engine.log()


def test_a_listener_without_users_is_refused_with_the_fix(
    engine: Engine, options: tuple[str, ...]
) -> None:
    engine.start(options[0], '--env=ONCEGATE_LISTENERS=[{bind = "0.0.0.0"}]')
    assert engine.said("wait", engine.container) == "2"
    assert "anonymous = false with [access] password_file" in engine.log()


def test_a_broker_that_hangs_is_unhealthy(engine: Engine, options: tuple[str, ...]) -> None:
    engine.start(*options)
    wait_until_healthy(engine)
    broker = next(
        str(number)
        for number, (_, command) in engine.processes().items()
        if command.split()[-1] == "broker" or " broker " in command
    )
    run("kill", "-STOP", broker)
    checked = engine.outcome("exec", engine.container, "oncegate-healthy")
    run("kill", "-CONT", broker)
    assert checked.returncode == 1
    assert "oncegate-healthy: the page at 127.0.0.1 port 8080" in checked.stdout
    wait_until_healthy(engine)


def test_its_description_states_what_it_is(engine: Engine) -> None:
    config = engine.inspected("image", engine.image)["Config"]
    assert config["User"] == f"{USER}:{USER}"
    assert list(config["Volumes"]) == ["/var/lib/oncegate"]
    assert config["Entrypoint"] == ["/usr/bin/oncegate"]
    assert config["Cmd"] == ["up", "--as-services"]
    labels = config["Labels"]
    name = "org.opencontainers.image"
    assert labels[f"{name}.title"] == "Oncegate"
    assert labels[f"{name}.version"] == "0.1.0"
    assert labels[f"{name}.revision"] == run("git", "-C", ROOT, "rev-parse", "HEAD").strip()
    said = engine.said("run", "--rm", "--network=none", *HERE, engine.image, "--version")
    form = r"oncegate 0\.1\.0 \(commit [0-9a-f]{12,}(-dirty)?, core: compiled\)"
    assert re.fullmatch(form, said)


def test_the_archive_is_annotated(archive: Path) -> None:
    def blob(digest: str) -> dict[str, dict[str, str]]:
        path = f"blobs/sha256/{digest.removeprefix('sha256:')}"
        parsed: dict[str, dict[str, str]] = json.loads(run("tar", "-xOf", archive, path))
        return parsed

    (manifest,) = json.loads(run("tar", "-xOf", archive, "index.json"))["manifests"]
    annotations = blob(manifest["digest"])["annotations"]
    assert {"title", "version", "licenses", "revision"} <= {
        name.rpartition(".")[2] for name in annotations
    }
