"""`oncegate upload`: the settings of the session log come from the configuration."""

from pathlib import Path

import pytest

from gateway.cli.application import execute
from gateway.cli.services.prepared import PreparedUpload
from gateway.cli.services.upload import session_log_settings_of
from gateway.configuration import load

FILE = """
[gateway]
id = "cellar-1"
data_dir = "/srv/gateway"
control_dir = "/run/oncegate"
[session_log]
payload_topics = ["a/#", "b"]
seal_after = "5m"
[upload]
target = "s3://bucket/prefix"
sent_keep = "1MiB"
"""


def test_every_key_of_the_session_log_reaches_its_settings(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(FILE)
    settings = session_log_settings_of(load(file, {}, {}, None))
    assert settings.gateway == "cellar-1"
    assert settings.data_dir == Path("/srv/gateway")
    assert settings.control_socket == Path("/run/oncegate/control.sock")
    assert settings.target == "s3://bucket/prefix"
    assert settings.payload_topics == ("a/#", "b")
    assert settings.seal_after_seconds == 300.0
    assert settings.sent_bytes_keep == 1 << 20


@pytest.mark.parametrize(
    ("options", "target"),
    [([], "file://{}/uploaded"), (["--target", "gs://bucket/x"], "gs://bucket/x")],
)
def test_without_a_target_segments_go_into_the_data_directory(
    tmp_path: Path, options: list[str], target: str
) -> None:
    service = execute(["upload", "--data-dir", str(tmp_path), *options])
    assert isinstance(service, PreparedUpload)
    assert service.settings.target == target.format(tmp_path)
    assert service.settings.gateway == (tmp_path / "gateway-id").read_text().strip()
