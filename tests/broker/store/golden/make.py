"""Makes a golden data directory: runs a real broker and uploader, and records the contents.

    .venv/bin/python -m tests.broker.store.golden.make NAME [--code TREE]

makes NAME.tar.xz and NAME.json in the folder of this file, with the programs in the source tree
TREE (default: this tree). NAME is the number of the data directory's format. Each format has one
golden directory, made once by the code of its time and never again. From the first release on, the
directories of earlier releases stay.

NAME.json states the actions of the clients, and therefore what every later version must find. All
of it comes from the clients' side; none of it comes from the broker.
"""

import argparse
import asyncio
import json
import shutil
import signal
import stat
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from tests.broker.store.golden import version_5
from tests.broker.store.golden.programs import AWAY, HERE, Programs
from tests.peers.byte_client import ByteClient
from tests.peers.mqtt_bytes import Kind, Will, connect

PASSWORD = b"correct horse"
HELD = ((11, "late/1", "held in the tables"), (13, "late/2", "held in the journal"))
"""QoS 2 messages that `holder` never released: packet identifier, topic and payload of each."""

Expected = dict[str, Any]


class Story:
    """The actions of the clients, during two runs of the broker."""

    def __init__(self, programs: Programs) -> None:
        self._programs = programs
        self._subscribed: dict[str, dict[str, int]] = {}
        self._owed: dict[str, list[tuple[str, str]]] = {}
        self._retained: dict[str, str] = {}

    async def lasting(self, name: str, *, will: Will | None = None) -> ByteClient:
        """Connect with a persistent session; the client `owned` logs in as a user."""
        user = {"username": "owner", "password": PASSWORD} if name == "owned" else {}
        data = connect(name, clean=False, will=will, **user)  # type: ignore[arg-type]
        return await self._programs.client(name, data)

    async def subscribe(self, name: str, topic_filter: str, qos: int) -> None:
        """Subscribe in a persistent session, and disconnect."""
        client = await self.lasting(name)
        assert await client.subscribe((topic_filter, qos)) == [qos]
        self._subscribed.setdefault(name, {})[topic_filter] = qos
        self._owed.setdefault(name, [])
        await client.disconnect()

    async def publish(self, topic: str, *payloads: str, qos: int = 2, retain: bool = False) -> None:
        """Publish, and record which sessions must receive each message."""
        publisher = await self._programs.client("publisher", connect("publisher"))
        for payload in payloads:
            await publisher.deliver(topic, payload.encode(), qos=qos, retain=retain)
            for name, filters in self._subscribed.items():
                if any(topic.startswith(each.removesuffix("#")) for each in filters):
                    self._owed[name].append((topic, payload))
        if retain:
            self._retained[topic] = payloads[-1]
            if not payloads[-1]:
                del self._retained[topic]
        await publisher.disconnect()

    async def hold(self, packet_id: int, topic: str, payload: str) -> None:
        """Send a QoS 2 PUBLISH and never its PUBREL."""
        holder = await self.lasting("holder")
        await holder.publish(topic, payload.encode(), qos=2, packet_id=packet_id)
        await holder.expect(Kind.PUBREC, packet_id)
        holder.cut()
        await self.seen_away("holder")

    async def seen_away(self, name: str) -> None:
        """Wait until the broker has noticed that a connection was cut."""
        while (await self._programs.ask("session", client_id=name))["connected"]:  # noqa: ASYNC110
            # The control socket cannot wait for a change.
            await asyncio.sleep(0.02)

    async def first_life(self) -> None:
        """Create the state for the tables: the broker is stopped cleanly afterwards."""
        await self.subscribe("owned", "orders/#", 2)
        await self.subscribe("away", "sensors/#", 1)
        await self.subscribe("away", "wills/#", 1)
        await self.subscribe("busy", "sensors/#", 2)
        await self.subscribe("forgetful", "sensors/#", 2)
        await self.hold(*HELD[0])
        await self.publish("state/a", "one", retain=True)
        await self.publish("state/b", "two", qos=1, retain=True)
        await self.publish("state/c", "three", "", retain=True)
        await self._subscribe_5()
        await self.publish("orders/1", "first order", "second order")
        await self.publish("sensors/t", "t1", "t2", "t3", "t4")
        await self._leave_half_done()
        await self._publish_5("five/1", "with properties, in the tables")

    async def _subscribe_5(self) -> None:
        five = await self._programs.client("five", version_5.connect("five", lasting=True))
        await five.send_all(version_5.subscribe(1, "five/#", 1, identifier=7))
        await five.expect(Kind.SUBACK, 1)
        self._owed["five"] = []
        five.cut()
        await self.seen_away("five")

    async def _publish_5(self, topic: str, payload: str) -> None:
        sender = await self._programs.client("sender", version_5.connect("sender", lasting=False))
        await sender.send_all(version_5.publish(topic, payload.encode(), 1))
        await sender.expect(Kind.PUBACK, 1)
        self._owed["five"].append((topic, payload))
        sender.cut()

    async def _leave_half_done(self) -> None:
        """Leave one delivery at PUBREL and one at PUBLISH: together they fill the window of two."""
        busy = await self.lasting("busy")
        first = await busy.expect(Kind.PUBLISH)
        await busy.expect(Kind.PUBLISH)
        await busy.acknowledge(Kind.PUBREC, first.packet_id)
        await busy.expect(Kind.PUBREL, first.packet_id)
        assert (first.topic, first.payload.decode()) == self._owed["busy"].pop(0)
        busy.cut()
        await self.seen_away("busy")

    async def second_life(self) -> None:
        """Create the state for the journal alone: the broker is killed afterwards."""
        await self.publish("sensors/t", "t5", "t6")
        await self.publish("state/a", "uno", retain=True)
        await self.publish("state/d", "four", retain=True)
        await self.hold(*HELD[1])
        await self.subscribe("latecomer", "late/#", 2)
        await self.publish("late/3", "for the latecomer", qos=1)
        owned = await self.lasting("owned")
        assert ("orders/1", (await owned.take()).payload.decode()) == self._owed["owned"].pop(0)
        second = await owned.expect(Kind.PUBLISH)
        assert ("orders/1", second.payload.decode()) == self._owed["owned"][0]
        owned.cut()
        await self.seen_away("owned")
        forgetful = await self.lasting("forgetful")
        await forgetful.unsubscribe("sensors/#")
        del self._subscribed["forgetful"]["sensors/#"]
        forgetful.cut()
        await self.seen_away("forgetful")
        await self.publish("sensors/t", "t7")
        await self._publish_5("five/2", "with properties, in the journal")

    async def end(self) -> None:
        """Kill the broker while it has a client with a will, and a segment in log/open."""
        willed = await self.lasting("willed", will=Will("wills/w", b"gone", 1))
        await self.publish("sensors/t", "t8")
        await self._programs.ask("session", client_id="willed")
        self._programs.stop("broker", signal.SIGKILL)
        self._owed["away"].append(("wills/w", "gone"))
        willed.cut()

    def expected(self) -> Expected:
        """Return the contents that every later version must find."""
        return {
            "owed": dict(sorted(self._owed.items())),
            "subscribed": dict(sorted(self._subscribed.items())),
            "received_and_not_completed": {"busy": 1},
            "held": HELD,
            "retained": self._retained,
            "user": ["owner", PASSWORD.decode()],
        }


async def make(programs: Programs) -> Expected:
    """Fill the data directory; return its expected contents."""
    story = Story(programs)
    log = programs.data / "log"
    programs.start("broker")
    programs.start("upload")
    await story.first_life()
    programs.wait_for(lambda: any((log / "sent").glob("*.zst")), "a segment is sent")
    assert programs.stop("broker") == 0
    assert programs.stop("upload") == 0
    programs.start("broker")
    programs.start("upload", target=AWAY)
    await story.second_life()
    programs.wait_for(lambda: any((log / "sealed").glob("*.zst")), "a segment is sealed")
    assert programs.stop("upload") == 0
    programs.start("upload", target=AWAY, seal_after="1h")
    await story.end()
    programs.wait_for(lambda: any((log / "open").iterdir()), "a segment is open")
    programs.stop("upload", signal.SIGKILL)
    return story.expected()


def pack(directory: Path, archive: Path) -> None:
    """Pack the data directory and the users, without sockets and without SQLite's `-shm`."""
    with tarfile.open(archive, "w:xz", preset=9) as tar:
        for path in sorted((directory / "data").rglob("*")):
            if not stat.S_ISSOCK(path.lstat().st_mode) and not path.name.endswith("-shm"):
                tar.add(path, path.relative_to(directory), recursive=False)
        tar.add(directory / "users", "users")


def main() -> None:
    """Make one golden data directory."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("name")
    parser.add_argument("--code", type=Path, default=HERE)
    options = parser.parse_args()
    directory = Path(tempfile.mkdtemp(prefix="oncegate-golden-"))
    programs = Programs(directory, options.code)
    here = Path(__file__).parent
    try:
        password = ["passwd", str(programs.users), "owner", "--password-stdin"]
        done = programs.run(*password, text=PASSWORD.decode() + "\n")
        assert done.returncode == 0, done.stderr
        expected = asyncio.run(make(programs))
        (here / f"{options.name}.json").write_text(json.dumps(expected, indent=1) + "\n")
        pack(directory, here / f"{options.name}.tar.xz")
    except BaseException:
        print(programs.output())
        raise
    finally:
        programs.remove()
        shutil.rmtree(directory)


if __name__ == "__main__":
    main()
