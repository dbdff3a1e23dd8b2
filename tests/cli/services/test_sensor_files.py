"""The running bridge's access to its configuration."""

import os
import pickle
from pathlib import Path

import pytest

from gateway.cli.services.sensor_files import ConfigurationSource
from gateway.process.control.messages import Refused

GPS = '[[serial]]\nname = "gps"\npath = "/dev/ttyACM0"\nframing = "nmea"\n'
DUST = {"path": "/dev/ttyUSB0", "framing": "json"}


def test_ports_of_the_file_and_of_conf_d_are_listed_with_where_they_were_written(
    tmp_path: Path,
) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(GPS)
    files = ConfigurationSource(file, None).sensor_files()
    saved = files.save("dust", DUST, None)
    assert [port.name for port in saved] == [port.name for port in files.read()] == ["gps", "dust"]
    gps, dust = files.listed()
    assert (gps["name"], gps["source"], gps["can_change"]) == ("gps", str(file), False)
    assert (dust["place"], dust["framing"]) == ("/dev/ttyUSB0", "json")
    assert dust["source"] == str(tmp_path / "conf.d" / "dust.toml")
    assert (dust["can_change"], dust["has_previous"]) == (True, True)
    files.remove("dust", dust["version"])
    gone = files.listed()[-1]
    assert (gone["name"], gone["place"], gone["has_previous"]) == ("dust", None, True)


def test_a_file_that_a_person_changes_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(GPS)
    files = ConfigurationSource(file, None).sensor_files()
    assert files.listed()[0]["name"] == "gps"
    file.write_text(GPS.replace('"gps"', '"roof"'))
    assert files.listed()[0]["name"] == "roof"
    file.write_text("[mqtt]\nmax_inflight = -1\n")
    with pytest.raises(Refused, match=r"gateway.toml: \[mqtt\] max_inflight") as refused:
        files.listed()
    assert refused.value.code == "failed"


def test_a_sensor_whose_key_file_cannot_be_read_is_not_written(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.touch()
    files = ConfigurationSource(file, None).sensor_files()
    table = {"path": "/dev/x", "framing": "dsmr", "key_file": str(tmp_path / "absent")}
    with pytest.raises(Refused, match="key_file") as refused:
        files.save("meter", table, None)
    assert refused.value.code == "invalid"
    assert not (tmp_path / "conf.d").exists()


def test_a_port_that_is_not_in_a_file_of_its_own_is_changed_where_it_was_written(
    tmp_path: Path,
) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(GPS)
    with pytest.raises(Refused, match="change it in the file that contains it"):
        ConfigurationSource(file, None).sensor_files().file_of("gps")


def test_the_mistake_in_the_file_of_a_sensor_is_named(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(GPS)
    files = ConfigurationSource(file, None).sensor_files()
    files.save("dust", DUST, None)
    (tmp_path / "conf.d" / "dust.toml").write_text("[[serial]\n")
    with pytest.raises(Refused, match=r"dust.toml: is not TOML") as refused:
        files.file_of("dust")
    assert refused.value.code == "failed"


def test_without_a_file_nothing_can_be_added_and_the_message_has_the_fix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.cli.common.configuration_file.INSTALLED_FILE", tmp_path / "absent")
    monkeypatch.delitem(os.environ, "ONCEGATE_CONFIG", raising=False)
    files = ConfigurationSource(None, tmp_path).sensor_files()
    assert files.listed() == []
    with pytest.raises(Refused, match="--config"):
        files.save("dust", DUST, None)


def test_a_service_that_is_prepared_in_another_process_takes_it_along(tmp_path: Path) -> None:
    source = ConfigurationSource(tmp_path / "gateway.toml", tmp_path)
    assert pickle.loads(pickle.dumps(source)) == source  # noqa: S301
