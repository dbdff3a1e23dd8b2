from __future__ import annotations

import pytest

from tests.uploader.journals import Broker
from tests.uploader.listener import Listener
from tests.uploader.stage import Stage, until


async def test_the_broker_receives_what_is_sealed_and_the_log_s_status(stage: Stage) -> None:
    stage.with_settings(seal_after_seconds=0.05)
    broker = Broker()
    stage.journal.blobs = [broker.started(), broker.exchanges(3)]
    async with Listener(stage.settings.control_socket, broker.boot) as listener:
        async with stage.running():
            await until(lambda: listener.last_status().get("sent") not in (None, {}))
            await until(lambda: bool(listener.of("exported")))
        (segment,) = stage.uploaded()
        assert listener.of("exported")[-1] == {
            "command": "exported",
            "sequence": 16,
            "segment": 1,
            "sha256": segment.name.sha256,
        }
        report = listener.of("report")[-1]
        assert report["source"] == "uploader"
        status = listener.last_status()
        assert status.pop("last_upload_ms") is not None
        size = (stage.uploaded_dir / str(segment.name)).stat().st_size
        assert status == {
            "target": stage.settings.target,
            "open": {"segment": 2, "events": 0},
            "sealed": {"count": 0, "bytes": 0},
            "sent": {"count": 1, "bytes": size},
            "last_sealed_sequence": 16,
            "failing_since_ms": None,
            "error": None,
            "public_keys": [segment.public_key],
        }


async def test_a_seal_at_the_stop_is_still_reported(stage: Stage) -> None:
    broker = Broker()
    stage.journal.blobs = [broker.started()]
    async with Listener(stage.settings.control_socket, broker.boot) as listener:
        async with stage.running():
            await until(lambda: listener.last_status().get("open") == {"segment": 1, "events": 1})
            assert listener.of("exported") == []
        assert [request["sequence"] for request in listener.of("exported")] == [1]


async def test_a_broker_of_another_boot_is_not_asked_to_drop_anything(stage: Stage) -> None:
    stage.with_settings(seal_after_seconds=0.05)
    old = Broker(boot="old")
    stage.journal.blobs = [old.started()]
    new = Broker(boot="new", store="new")
    async with Listener(stage.settings.control_socket, new.boot) as listener, stage.running():
        await until(lambda: listener.last_status().get("last_sealed_sequence") == 1)
        assert listener.of("exported") == []
        stage.journal.blobs = [new.started(), new.exchanges(1)]
        listener.writers[-1].close()
        await until(lambda: bool(listener.of("exported")))
        assert listener.of("exported")[0]["sequence"] == 6


async def test_what_was_sealed_while_the_broker_was_away_is_reported_when_it_is_back(
    stage: Stage,
) -> None:
    broker = Broker()
    stage.journal.blobs = [broker.started()]
    await stage.run_once()
    async with (
        stage.running(),
        Listener(stage.settings.control_socket, broker.boot) as listener,
    ):
        await until(lambda: bool(listener.of("exported")))
        assert listener.of("exported")[0]["sequence"] == 1


@pytest.mark.parametrize(
    "refusal",
    [
        b'{"ok":false,"error":{"code":"unknown_command","message":"no such command"}}\n',
        b"not json\n",
        b"[]\n",
        b"{}\n",
        b"x" * (2 << 20) + b"\n",
    ],
)
async def test_an_answer_that_is_none_is_logged_once_and_stops_nothing(
    stage: Stage, refusal: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    broker = Broker()
    stage.journal.blobs = [broker.started()]
    async with Listener(stage.settings.control_socket, broker.boot) as listener:
        listener.refusal = refusal
        async with stage.running():
            await until(lambda: len(listener.of("status")) == 2)
    assert stage.sequences() == [1]
    assert caplog.text.count("reporting to the broker fails") == 1


async def test_a_failing_target_shows_in_the_status_until_it_is_back(stage: Stage) -> None:
    stage.with_settings(
        seal_after_seconds=0.05, target=(stage.settings.data_dir / "usb" / "logs").as_uri()
    )
    broker = Broker()
    stage.journal.blobs = [broker.started()]
    async with Listener(stage.settings.control_socket, broker.boot) as listener, stage.running():
        await until(lambda: "mount the disk" in str(listener.last_status().get("error")))
        assert isinstance(listener.last_status()["failing_since_ms"], int)
        assert listener.last_status()["last_sealed_sequence"] == 1
        (stage.settings.data_dir / "usb").mkdir()
        await until(lambda: listener.last_status().get("error") is None)
        assert listener.last_status()["failing_since_ms"] is None
