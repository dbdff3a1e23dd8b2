"""A real Home Assistant, configured as by a user who has added MQTT, in a process of its own."""

import json
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.real_programs.program import Program
from tests.system.broker_process import free_port

HERE = Path(__file__).parent
PLACE = HERE.parents[1] / "build" / "real-programs" / "home-assistant"
# Of the machine and of the test's own component: no library for photographs, no quick compression.
EXPECTED = ("custom integration witness", "[aiohttp_fast_zlib]", "Error loading libturbojpeg")


class HomeAssistant(Program):
    """A Home Assistant whose MQTT integration uses the broker on `broker_port`."""

    start_seconds_max = 180.0

    def __init__(self, directory: Path, broker_port: int) -> None:
        super().__init__(
            directory,
            [PLACE / "bin" / "hass", "--config", directory],
            {
                "PATH": f"{PLACE / 'bin'}:{os.environ['PATH']}",
                "LANG": "C.UTF-8",
                "UV_OFFLINE": "1",  # what is not installed would be fetched
            },
        )
        shutil.copytree(HERE / "witness", directory / "custom_components" / "witness")
        (directory / "configuration.yaml").write_text(
            # Without codes for a second factor, whose packages it would fetch.
            "homeassistant:\n  auth_mfa_modules: []\n"
            "logger:\n  default: warning\n"
            f"http:\n  server_host: 127.0.0.1\n  server_port: {free_port()}\n"
            "recorder:\n  commit_interval: 1\nenergy:\nwitness:\n"
        )
        entry = {
            "data": {"broker": "127.0.0.1", "port": broker_port, "discovery": True},
            "disabled_by": None,
            "domain": "mqtt",
            "entry_id": "0" * 26,
            "minor_version": 1,
            "options": {},
            "pref_disable_new_entities": False,
            "pref_disable_polling": False,
            "source": "user",
            "title": "gateway",
            "unique_id": None,
            "version": 1,
        }
        storage = directory / ".storage"
        storage.mkdir()
        (storage / "core.config_entries").write_text(
            json.dumps(
                {
                    "version": 1,
                    "minor_version": 1,
                    "key": "core.config_entries",
                    "data": {"entries": [entry]},
                }
            )
        )

    def start(self) -> None:
        """Start it, and wait until it has started."""
        shown = self.directory / "shown.json"
        shown.unlink(missing_ok=True)
        self.start_until(shown.exists)

    def warnings(self) -> list[str]:
        """Return the warnings and errors in its log, except the expected ones."""
        return [
            line
            for line in self.output().splitlines()
            if any(level in line for level in (" WARNING ", " ERROR ", " CRITICAL "))
            and not any(each in line for each in EXPECTED)
        ]

    def shown(self) -> dict[str, Any]:
        """Return its MQTT entities by their unique id."""
        found: dict[str, Any] = json.loads((self.directory / "shown.json").read_text())
        return found

    def wait_until(self, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Wait until its entities fulfil the condition, and return them."""
        deadline = time.monotonic() + self.deadline_seconds
        while not condition(shown := self.shown()):
            assert time.monotonic() < deadline, json.dumps(shown, indent=1)
            time.sleep(0.2)
        return shown

    def energy_page(self, preferences: dict[str, Any]) -> dict[str, Any]:
        """Configure the energy page, and return the issues that it reports."""
        answered = self.directory / "energy.answered.json"
        answered.unlink(missing_ok=True)
        part = self.directory / "energy.asked.part"
        part.write_text(json.dumps(preferences))
        part.rename(self.directory / "energy.asked.json")
        deadline = time.monotonic() + self.deadline_seconds
        while not answered.exists():
            assert time.monotonic() < deadline, self.output()
            time.sleep(0.2)
        found: dict[str, Any] = json.loads(answered.read_text())
        return found
