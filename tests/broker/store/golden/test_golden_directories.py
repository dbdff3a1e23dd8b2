"""Every supported format of the data directory is read completely by today's code."""

import json
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.uploader.segments.names import segments_in
from tests.broker.store.golden import version_5
from tests.broker.store.golden.programs import Programs
from tests.peers.byte_client import ByteClient
from tests.peers.mqtt_bytes import Kind, connect
from tests.uploader.chains import check_chain
from tests.uploader.stage import segments_of

HERE = Path(__file__).parent
FORMATS = sorted(int(path.stem) for path in HERE.glob("*.json"))


class Golden:
    """A copy of a golden directory, used by today's programs."""

    def __init__(self, number: int, directory: Path) -> None:
        self.expected: dict[str, Any] = json.loads((HERE / f"{number}.json").read_text())
        with tarfile.open(HERE / f"{number}.tar.xz") as archive:
            archive.extractall(directory, filter="data")
        self.programs = Programs(directory)

    async def client(self, name: str) -> ByteClient:
        """Connect a client, which must find its session."""
        if name == "five":
            packet = version_5.connect(name, lasting=True)
        elif name == "owned":
            user, password = self.expected["user"]
            packet = connect(name, clean=False, username=user, password=password.encode())
        else:
            packet = connect(name, clean=False)
        client = await self.programs.client(name, packet)
        assert client.session_present, f"the session of {name} is gone"
        return client

    async def delivered(self, name: str) -> list[list[str]]:
        """Return all messages that a session receives, as topics and payloads."""
        client = await self.client(name)
        for _ in range(self.expected["received_and_not_completed"].get(name, 0)):
            pubrel = await client.expect(Kind.PUBREL)
            await client.acknowledge(Kind.PUBCOMP, pubrel.packet_id)
        found: list[list[str]] = []
        while len(found) < len(self.expected["owed"][name]):
            found.append(await self._take(name, client))
        # Any further message arrives before the PINGRESP.
        await client.ping()
        while client.has_waiting():
            found.append(await self._take(name, client))
        client.cut()
        return found

    async def _take(self, name: str, client: ByteClient) -> list[str]:
        message = await client.take()
        if name != "five":
            return [message.topic, message.payload.decode()]
        of_5 = version_5.published_of(message)
        assert version_5.USER_PROPERTY in of_5.properties
        assert bytes([version_5.SUBSCRIPTION_IDENTIFIER, 7]) in of_5.properties
        at = of_5.properties.index(version_5.MESSAGE_EXPIRY)
        left = int.from_bytes(of_5.properties[at + 1 : at + 5], "big")
        assert 0 < left <= version_5.EXPIRY_SECONDS
        return [of_5.topic, of_5.payload.decode()]

    def uploaded_to(self) -> int:
        """Return the last sequence number in the uploaded segments."""
        names = segments_in(self.programs.data / "uploaded")
        return max((name.last_sequence for name in names), default=0)

    def audit(self) -> dict[str, Any]:
        """Run the audit on the whole directory; return its report."""
        done = self.programs.run("audit", "--data-dir", str(self.programs.data), "--json")
        result: dict[str, Any] = json.loads(done.stdout)
        return result


@pytest.fixture(params=FORMATS)
def golden(request: pytest.FixtureRequest) -> Iterator[Golden]:
    directory = Path(tempfile.mkdtemp(prefix="oncegate-golden-"))
    golden = Golden(request.param, directory)
    try:
        yield golden
        assert "Traceback" not in golden.programs.output()
    finally:
        golden.programs.remove()
        print(golden.programs.output()[-4000:])
        shutil.rmtree(directory)


async def test_todays_broker_finds_and_delivers_all_that_a_golden_directory_holds(
    golden: Golden,
) -> None:
    programs, expected = golden.programs, golden.expected
    programs.start("broker")
    programs.start("upload")
    status = await programs.ask("status")
    assert status["store"]["recovery"] == "unclean", status
    for name, filters in expected["subscribed"].items():
        shown = (await programs.ask("session", client_id=name))["subscriptions"]
        assert {each["filter"]: each["qos"] for each in shown} == filters, name
    thief = await ByteClient.open(programs.port)
    assert (await thief.connect("owned", clean=False)).return_code != 0
    thief.cut()
    holder = await golden.client("holder")
    for packet_id, topic, payload in expected["held"]:
        await holder.publish(topic, payload.encode(), qos=2, packet_id=packet_id, dup=True)
        await holder.expect(Kind.PUBREC, packet_id)
        await holder.acknowledge(Kind.PUBREL, packet_id)
        await holder.expect(Kind.PUBCOMP, packet_id)
        expected["owed"]["latecomer"].append([topic, payload])
    await holder.disconnect()
    for name, owed in expected["owed"].items():
        assert await golden.delivered(name) == owed, name
    assert await _retained(programs, len(expected["retained"])) == expected["retained"]
    reported = (await programs.ask("status"))["journal"]["last_sequence"]
    assert programs.stop("broker") == 0
    programs.wait_for(lambda: golden.uploaded_to() > reported, "the end of the log is uploaded")
    assert programs.stop("upload") == 0
    verdict = golden.audit()
    assert (verdict["verdict"], verdict["exceptions"]) == ("ok", [])
    assert verdict["counts"]["held_open"] == verdict["counts"]["queued_open"] == 0
    uploaded = segments_of(programs.data / "uploaded")
    check_chain(uploaded)
    sequences = [event["sequence"] for segment in uploaded for event in segment.events]
    assert sequences == list(range(1, len(sequences) + 1))


async def _retained(programs: Programs, count: int) -> dict[str, str]:
    reader = await programs.client("reader", connect("reader"))
    await reader.subscribe(("state/#", 1))
    taken = [await reader.take() for _ in range(count)]
    await reader.ping()
    assert not reader.has_waiting()
    await reader.disconnect()
    return {message.topic: message.payload.decode() for message in taken}


def test_an_audit_of_a_golden_directory_finds_no_violation(golden: Golden) -> None:
    verdict = golden.audit()
    assert verdict["verdict"] == "ok", verdict
