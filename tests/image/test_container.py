"""Settings and files of the container's build, checked without buildah.

`make container-test` builds the image and runs it.
"""

import http.server
import inspect
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.cli.supervision.up import up
from gateway.configuration import load
from tests.image.scripts import check_script

ROOT = Path(__file__).resolve().parents[2]
CONTAINER = ROOT / "image" / "container"
SCRIPTS = [CONTAINER / name for name in ("base", "build", "install")]
HEALTHY = CONTAINER / "oncegate-healthy"


def settings_of_build() -> dict[str, str]:
    """Return the options of the last `buildah config` that sets a user: what an engine starts."""
    text = (CONTAINER / "build").read_text().replace("\\\n", " ")
    (line,) = [line for line in text.splitlines() if "--user" in line]
    return dict(re.findall(r"--([\w-]+) '?(\[.*?\]|[^'\s]+(?: --as-services)?)'?", line))


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_a_script_is_sound_and_ends_at_the_first_mistake(script: Path) -> None:
    check_script(script)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_no_script_removes_device_files(script: Path) -> None:
    """In a chroot, device files are bind mounts of this machine's own, for example `/dev/shm` with
    its contents."""
    for line in script.read_text().splitlines():
        assert not re.search(r'\brm\b.*"?\$\w+"?/(dev|proc|sys)\b', line), line


def test_it_is_an_ordinary_user_with_one_volume() -> None:
    text = (CONTAINER / "build").read_text()
    settings = settings_of_build()
    assert re.search(r"^user=[1-9]\d{3,}$", text, re.MULTILINE), "a number, and not root's"
    assert '--user "$user:$user"' in text
    assert text.count("--volume ") == 1
    assert settings["volume"] == settings["workingdir"] == "/var/lib/oncegate"
    assert '-o "$user" -g "$user" "$tree/var/lib/oncegate"' in (CONTAINER / "install").read_text()


def test_it_starts_the_supervisor_as_services_run_and_sigterm_ends_it() -> None:
    settings = settings_of_build()
    assert settings["entrypoint"] == '["/usr/bin/oncegate"]'
    assert settings["cmd"] == "up --as-services"
    assert settings["stop-signal"] == "SIGTERM"
    assert "as_services" in inspect.signature(up).parameters


def test_its_description_has_the_annotations_that_readers_look_for() -> None:
    labels = (CONTAINER / "build").read_text().partition("<<END\n")[2].partition("\nEND\n")[0]
    names = set(re.findall(r"^(\w+)=.+$", labels, re.MULTILINE))
    assert names == {"title", "description", "version", "revision", "created", "licenses"}


def test_its_configuration_opens_nothing() -> None:
    environment = {"ONCEGATE_GATEWAY_DATA_DIR": "/var/lib/oncegate"}
    configuration = load(CONTAINER / "gateway.toml", environment, {}, None)
    assert not any(listener.is_reached_from_network for listener in configuration.listeners)
    assert not configuration.api.is_reached_from_network
    assert configuration.gateway.data_dir == Path("/var/lib/oncegate")
    assert configuration.serial == ()
    assert f"--env {next(iter(environment))}=/var/lib/oncegate" in (CONTAINER / "build").read_text()


def test_what_its_configuration_proposes_is_valid(tmp_path: Path) -> None:
    text = (CONTAINER / "gateway.toml").read_text()
    text = re.sub(r"^#(?=[\[a-z])", "", text, flags=re.MULTILINE)
    proposed = tmp_path / "gateway.toml"
    proposed.write_text(text.replace("port = 1883", "port = 1883\nanonymous = false"))
    assert load(proposed, {}, {}, None).bridge.username == "bridge"


def test_an_architecture_that_is_not_known_is_refused_in_one_line() -> None:
    outcome = subprocess.run(
        [CONTAINER / "build", "riscv64", "x.deb", "dist"],
        check=False,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (outcome.returncode, outcome.stderr) == (2, "riscv64: expected arm64 or amd64\n")


class Page(http.server.BaseHTTPRequestHandler):
    """Responds to `/readyz` with the status set in its server."""

    def do_GET(self) -> None:
        assert isinstance(self.server, Server)
        self.send_response(self.server.status if self.path == "/readyz" else 404)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing."""


class Server(http.server.HTTPServer):
    """A page on a free port."""

    status = 200


@pytest.fixture
def page() -> Iterator[Server]:
    with Server(("127.0.0.1", 0), Page) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def health_of(port: int, **environment: str) -> tuple[int, str]:
    """Run the health check for a page at this port of this machine. Return exit code and output."""
    around = {name: value for name, value in os.environ.items() if not name.startswith("ONCEGATE_")}
    around |= {"ONCEGATE_API_PORT": str(port), "PYTHONPATH": os.pathsep.join(sys.path)}
    outcome = subprocess.run(
        [sys.executable, "-P", HEALTHY],
        check=False,
        capture_output=True,
        text=True,
        env=around | environment,
        timeout=60,
    )
    return outcome.returncode, outcome.stdout + outcome.stderr


def test_the_health_check_asks_readyz_where_the_page_is(page: Server) -> None:
    port = page.server_address[1]
    assert health_of(port) == (0, "")
    assert health_of(port, ONCEGATE_API_BIND="0.0.0.0") == (0, "")  # noqa: S104
    page.status = 503
    said = f"the page at 127.0.0.1 port {port} answers 503: the broker does not answer"
    assert health_of(port) == (1, f"oncegate-healthy: {said}\n")


def test_the_health_check_fails_in_one_line_without_a_page_or_a_configuration(
    page: Server, tmp_path: Path
) -> None:
    port = page.server_address[1]
    code, said = health_of(port, ONCEGATE_API_BIND="127.0.0.2")
    assert code == 1
    reason = f"the page at 127.0.0.2 port {port} does not answer: Connection refused"
    assert said == f"oncegate-healthy: {reason}\n"
    code, said = health_of(port, ONCEGATE_CONFIG=str(tmp_path / "missing.toml"))
    assert (code, len(said.splitlines())) == (1, 1)
    assert "missing.toml" in said


def test_its_packages_have_sections_of_their_own() -> None:
    listed = (ROOT / "requirements" / "debian.txt").read_text()
    assert "\n[container]\nbuildah" in listed
    assert "\n[container-test]\n" in listed
