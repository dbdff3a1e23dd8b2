"""The recorder with a real control socket."""

from pathlib import Path

import pytest

from api import limits
from api.history.history import History
from api.history.recorder import Recorder
from api.status.control_socket import ControlSocket
from api.status.observer import Observer
from tests.api.contract_broker import ContractBroker


async def test_an_answer_becomes_points_and_a_broker_that_is_down_a_gap(
    broker: ContractBroker, status_socket: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "ANSWER_REUSE_SECONDS", 0.0)
    observer = Observer(ControlSocket(status_socket))
    history = History(tmp_path / "history")
    recorder = Recorder(observer, history)
    await recorder.record()
    await broker.stop()
    await recorder.record()
    assert len(history.last_hour("sensors/board-0000002a/temperature").points) == 1
    assert len(history.last_hour("gateway/queued_messages").points) == 1
    await observer.close()
    await history.close()
