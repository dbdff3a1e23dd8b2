"""Creates an outbox with the bridge's present code: readings in every state, boards and properties.

python -m tests.bridge.golden.make_outbox FILE
"""

import asyncio
import functools
import sys
from pathlib import Path

from firmware_bridge.outbox.outbox import Outbox
from firmware_bridge.outbox.recovery import open_outbox_store
from firmware_bridge.protocols.frame import Frame
from firmware_bridge.readings.measurement import Measurement
from firmware_bridge.readings.numbering import BoardIdentity, Numbering
from firmware_bridge.readings.publications import Publication, publications_of

from gateway.process.declarations.readings import Readings

WINDOW = 16
# The time of its readings is fixed, so that two files of one version differ as little as possible.
ARRIVAL_SECONDS = 1_763_715_138.25
RETAINED_DEVICE = "kettle"
SESSION = "oncegate-bridge-0123abcd"


def frame_of(sequence: int) -> Frame:
    return Frame({"temperature": [Measurement("temperature", 20 + sequence / 8, "Cel")]})


def publications(numbering: Numbering) -> list[Publication]:
    return publications_of(
        frame_of(numbering.sequence).quantities,
        numbering,
        arrival_seconds=ARRIVAL_SECONDS,
        units={},
        readings=Readings(retain=numbering.device == RETAINED_DEVICE),
    )


async def make(path: Path) -> None:
    outbox = Outbox(open_outbox_store(path), window=WINDOW, bytes_max=1 << 20)
    running = asyncio.create_task(outbox.run())
    outbox.note_kinds("line", "key_value", {"temperature": "number"})
    for sequence in range(1, 11):
        outbox.submit(publications(Numbering(RETAINED_DEVICE, outbox.start_number, sequence)))
        for device, boot in ((42, 1), (42, 2), (43, 7)):
            numbering = Numbering(f"board-{device:08x}", boot, sequence)
            outbox.submit_frame(
                BoardIdentity(device, boot, sequence),
                frame_of(sequence).contents_digest(),
                "board",
                functools.partial(_publications_of, numbering),
            )
    outbox.receive_connected(_send_nowhere, SESSION, session_present=False)
    await _settled(outbox)
    outbox.receive_pubrec(1)
    await _settled(outbox)
    outbox.receive_disconnected(_send_nowhere)
    outbox.receive_pubcomp(1)
    for packet_id in (2, 3, 4):
        outbox.receive_pubrec(packet_id)
    await _settled(outbox)
    outbox.stop()
    await running
    await outbox.close()


def _publications_of(numbering: Numbering, _: int) -> list[Publication]:
    return publications(numbering)


def _send_nowhere(_: bytes) -> None:
    """Discard a packet: this program itself plays the broker's responses."""


async def _settled(outbox: Outbox) -> None:
    await outbox.wait_for_commit()
    await outbox.wait_for_commit()


if __name__ == "__main__":
    asyncio.run(make(Path(sys.argv[1])))
