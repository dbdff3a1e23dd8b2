"""The gateway's id is created once, never changed, and recovered if the disk has lost it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.configuration import Configuration, gateway_id, load
from gateway.configuration.identity import known_id, known_log_identity, log_identity
from tests.uploader.journals import Broker, MemoryJournal
from tests.uploader.stage import Stage, settings_in


def at(directory: Path) -> Configuration:
    return load(None, {}, {"gateway.data_dir": directory}, None)


def test_the_gateways_id_is_made_once_and_kept(tmp_path: Path) -> None:
    configuration = at(tmp_path / "var")
    made = gateway_id(configuration)
    assert made.startswith("gw-")
    assert len(made) == 11
    assert gateway_id(configuration) == made
    assert os.listdir(tmp_path / "var") == ["gateway-id"]


def test_a_configured_id_is_taken_and_nothing_is_written(tmp_path: Path) -> None:
    options = {"gateway.data_dir": tmp_path / "var", "gateway.id": "cellar-7"}
    assert gateway_id(load(None, {}, options, None)) == "cellar-7"
    assert not (tmp_path / "var").exists()


@pytest.mark.parametrize("damage", [b"", bytes(9), b"gw-1\xff", b"a b\n", b"x" * 65])
def test_a_damaged_id_is_replaced_and_kept_aside_and_the_log_reports_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: bytes
) -> None:
    (tmp_path / "gateway-id").write_bytes(damage)
    made = gateway_id(at(tmp_path))
    assert made.startswith("gw-")
    assert "does not hold a gateway id" in caplog.text
    assert f"this gateway is {made} from now on" in caplog.text
    assert (tmp_path / "gateway-id.damaged").read_bytes() == damage
    caplog.clear()
    assert gateway_id(at(tmp_path)) == made
    assert not caplog.text


@pytest.mark.parametrize("damage", [None, b"", bytes(9)])
@pytest.mark.parametrize("witness", ["chain", "sealed", "sent"])
async def test_an_id_that_is_lost_or_damaged_is_found_again_in_the_session_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: bytes | None, witness: str
) -> None:
    stage = Stage(settings_in(tmp_path), MemoryJournal())
    stage.with_settings(gateway="cellar-7")
    for number in range(2):
        stage.journal.blobs.append(Broker(after=5 * number).exchanges(1))
        await stage.run_once()
    leave_only(witness, stage.log_dir)
    if damage is not None:
        (stage.settings.data_dir / "gateway-id").write_bytes(damage)
    assert known_id(stage.settings.data_dir) == "cellar-7"
    assert "again" not in caplog.text, "a reader mends nothing"
    for _ in range(2):
        assert gateway_id(at(stage.settings.data_dir)) == "cellar-7"
    assert caplog.text.count("the id is cellar-7 again") == 1


async def test_of_several_ids_in_the_session_log_the_newest_counts(tmp_path: Path) -> None:
    stage = Stage(settings_in(tmp_path), MemoryJournal())
    for number, name in enumerate(("zz-first", "aa-second")):
        stage.with_settings(gateway=name)
        stage.journal.blobs.append(Broker(after=5 * number).exchanges(1))
        await stage.run_once()
    assert gateway_id(at(stage.settings.data_dir)) == "aa-second"
    (stage.settings.data_dir / "gateway-id").unlink()
    leave_only("sent", stage.log_dir)
    assert gateway_id(at(stage.settings.data_dir)) == "aa-second"


def test_a_damaged_chain_names_no_client(tmp_path: Path) -> None:
    (tmp_path / "log").mkdir()
    (tmp_path / "log" / "chain.json").write_bytes(b'{"heads":[{"gateway":"gw-x"}]}\nabc\n')
    assert gateway_id(at(tmp_path)) != "gw-x"


def leave_only(witness: str, log_dir: Path) -> None:
    """Leave only one place that contains the id: `chain.json` or one of the folders of segments."""
    if witness != "chain":
        (log_dir / "chain.json").unlink()
    for path in (log_dir / "sent").iterdir():
        if witness == "sealed":
            path.rename(log_dir / "sealed" / path.name)
        elif witness == "chain":
            path.unlink()


def test_processes_that_start_together_agree_on_the_id(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from gateway.configuration import gateway_id, load;"
        "print(gateway_id(load(None, {}, {'gateway.data_dir': Path(sys.argv[1])}, None)))"
    )
    starts = [
        subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], stdout=subprocess.PIPE)
        for _ in range(4)
    ]
    ids = {start.communicate(timeout=60)[0] for start in starts}
    assert len(ids) == 1
    assert json.dumps(ids.pop().decode().strip()).startswith('"gw-')


def test_a_tenants_log_has_the_gateways_id_and_its_own_name(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(
        f"[gateway]\ndata_dir = '{tmp_path}'\n[[tenants.acme.listeners]]\nport = 1884\n"
    )
    gateway = gateway_id(load(file, {}, {}, None))
    acme = load(file, {}, {}, None, "acme")
    assert known_log_identity(acme) == log_identity(acme) == f"{gateway}_acme"
    assert not (tmp_path / "tenants").exists()
