"""The broker's end of the control socket, as far as the uploader uses it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.peers.control_server import ControlServer, result


class Listener(ControlServer):
    """Responds with its boot id, or with the bytes in `refusal` if they are set."""

    def __init__(self, path: Path, boot: str) -> None:
        super().__init__(path)
        self.boot = boot
        self.refusal: bytes | None = None

    def answer_of(self, request: dict[str, Any]) -> bytes:
        if self.refusal is not None:
            return self.refusal
        return result({"boot": self.boot} if request["command"] == "status" else {})

    def last_status(self) -> dict[str, object]:
        reports = self.of("report")
        status = reports[-1]["status"] if reports else {}
        assert isinstance(status, dict)
        return status
