"""`oncegate broker`: the broker is ready to run, or it is refused before it takes anything."""

import subprocess
import sys
from pathlib import Path


def test_a_broken_password_file_is_a_mistake_of_the_configuration_also_for_up(
    tmp_path: Path,
) -> None:
    (tmp_path / "passwords").write_text("no password file\n")
    (tmp_path / "gateway.toml").write_text(
        '[[listeners]]\nport = 0\n[api]\nport = 0\n[access]\npassword_file = "passwords"\n'
    )
    for verb in ("broker", "up"):
        outcome = subprocess.run(
            [sys.executable, "-m", "gateway.cli.main", verb, "--config", "gateway.toml"],
            check=False,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert outcome.returncode == 2, outcome.stderr
        assert "passwords: line 1: is not USER:HASH" in outcome.stderr
