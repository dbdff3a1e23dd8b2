"""`oncegate tls` at a terminal, up to a message over TLS."""

import asyncio
import json
import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.broker.server.broker import running
from tests.cli.command import oncegate
from tests.peers.mqtt_bytes import publish, subscribe


def test_init_prints_a_configuration_that_can_be_used(tmp_path: Path) -> None:
    made = oncegate("tls", "init", "tls", "--client", "cellar", directory=tmp_path)
    assert made.returncode == 0, made.stderr
    toml = made.stdout[made.stdout.index("# In gateway.toml") :]
    (tmp_path / "g.toml").write_text(f"[[listeners]]\n{toml}")
    checked = oncegate("check-config", "--config", "g.toml", directory=tmp_path)
    assert checked.returncode == 0, checked.stderr
    assert checked.stdout.startswith("g.toml: can be used\n")
    again = oncegate("tls", "init", "tls", "--client", "cellar", directory=tmp_path)
    assert again.stdout.startswith("there is ")


async def test_the_printed_command_publishes_to_the_printed_listener(tmp_path: Path) -> None:
    options = ("--name", "localhost", "--client", "cellar")
    made = await asyncio.to_thread(oncegate, "tls", "init", "tls", *options, directory=tmp_path)
    toml = made.stdout[made.stdout.index("# In gateway.toml") :]
    listener = tomllib.loads(toml)["listeners"][0] | {"bind": "127.0.0.1"}
    command = re.search(r"# +(mosquitto_pub .*)", toml)
    assert command is not None
    async for broker in running(tmp_path / "data", [listener, {}], {}):
        watcher = await broker.open(1)
        assert await watcher.log_in("watcher") == 0
        watcher.send(subscribe(1, ("test", 0)))
        await watcher.packet()
        port = str(broker.listeners[0]["port"])
        arguments = shlex.split(command[1].replace(" 8883 ", f" {port} "))
        done = await asyncio.to_thread(
            subprocess.run, arguments, check=False, capture_output=True, timeout=30
        )
        assert done.returncode == 0, done.stderr
        assert await watcher.packet() == publish("test", b"hello")


async def test_the_load_generator_verifies_messages_over_tls(tmp_path: Path) -> None:
    await asyncio.to_thread(oncegate, "tls", "init", "tls", directory=tmp_path)
    certificate, key = (str(tmp_path / "tls" / name) for name in ("server.pem", "server.key"))
    listener = {"tls": {"certificate": certificate, "key": key}}
    async for broker in running(tmp_path / "data", [listener, {}], {}):
        where = ("--host", "localhost", "--port", broker.listeners[0]["port"])
        how = ("--cafile", "tls/ca.pem", "--qos", 1, "--size", 50_000, "--count", 40, "--json")
        outcome = await asyncio.to_thread(oncegate, "bench", *where, *how, directory=tmp_path)
        assert outcome.returncode == 0, outcome.stderr
        assert json.loads(outcome.stdout)["scenario"]["authorities"] == "tls/ca.pem"
        plain = ("--host", "localhost", "--port", broker.listeners[1]["port"], *how)
        refused = await asyncio.to_thread(oncegate, "bench", *plain, directory=tmp_path)
        assert refused.returncode == 1
        assert "oncegate bench: localhost port " in refused.stderr


def test_without_clients_what_it_prints_is_a_configuration_that_asks_for_passwords(
    tmp_path: Path,
) -> None:
    made = oncegate("tls", "init", "tls", directory=tmp_path)
    assert "client_certificates" not in made.stdout
    plain = '[[listeners]]\nbind = "127.0.0.1"\n'
    access = '[access]\npassword_file = "passwords"\n'
    pasted = plain + made.stdout[made.stdout.index("# In gateway.toml:") :] + access
    (tmp_path / "gateway.toml").write_text(pasted)
    typed = ("passwords", "cellar", "--password-stdin")
    oncegate("passwd", *typed, stdin="long enough\n", directory=tmp_path)
    checked = oncegate("check-config", "--json", "--config", "gateway.toml", directory=tmp_path)
    assert checked.returncode == 0, checked.stderr
    listener = json.loads(checked.stdout)["configuration"]["listeners"][1]
    assert (listener["anonymous"], Path(listener["tls"]["certificate"]).name) == (
        False,
        "server.pem",
    )


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["init", "tls", "--client", "../x"], 1, "a client's name has"),
        (["init", "tls", "--name", "a b"], 1, "is neither a host name"),
        (["init", "tls", "--days", "0"], 2, "greater than or equal to 1"),
        (["revoke", "tls", "cellar"], 1, "cellar.pem: does not exist: nothing to revoke"),
    ],
)
def test_a_mistake_is_one_line(
    tmp_path: Path, arguments: list[str], code: int, message: str
) -> None:
    outcome = oncegate("tls", *arguments, directory=tmp_path)
    assert outcome.returncode == code
    assert message in outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1


@pytest.mark.parametrize("verb", ["init", "revoke"])
def test_help_has_an_example(tmp_path: Path, verb: str) -> None:
    outcome = oncegate("tls", verb, "--help", directory=tmp_path)
    assert f"oncegate tls {verb}" in outcome.stdout.split("Example")[1]


def test_a_broker_whose_certificate_cannot_be_used_does_not_start(tmp_path: Path) -> None:
    oncegate("tls", "init", "tls", directory=tmp_path)
    (tmp_path / "g.toml").write_text(
        "[[listeners]]\nport = 0\n[[listeners]]\nport = 0\n[listeners.tls]\n"
        "certificate = 'tls/ca.pem'\nkey = 'tls/server.key'\n"
    )
    outcome = oncegate("broker", "--config", "g.toml", directory=tmp_path)
    assert outcome.returncode == 2
    assert "tls/server.key: does not belong to the certificate tls/ca.pem" in outcome.stderr
    assert "Traceback" not in outcome.stderr


def test_check_config_states_what_is_wrong_with_a_certificate(tmp_path: Path) -> None:
    oncegate("tls", "init", "tls", directory=tmp_path)
    (tmp_path / "g.toml").write_text(
        "[[listeners]]\n[[listeners]]\n[listeners.tls]\n"
        "certificate = 'tls/server.pem'\nkey = 'tls/server.key'\n"
    )
    (tmp_path / "tls/server.key").chmod(0o644)
    outcome = oncegate("check-config", "--config", "g.toml", directory=tmp_path)
    assert outcome.returncode == 2
    assert "tls/server.key: is a secret" in outcome.stderr
    assert "chmod 600" in outcome.stderr
