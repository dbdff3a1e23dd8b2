"""Make an uplink's file with the present code: messages in every state, both ways, both sessions.

python -m tests.uplink.golden.make_queue FILE
"""

import sys
from pathlib import Path

from gateway.process.mqtt_client.exchanges import Exchange
from gateway.uplink.message import Message
from gateway.uplink.recovery import open_uplink_store
from gateway.uplink.routes import Side

PROPERTIES = b"&\x00\roncegate-hops\x00\x02gw"


def messages(target: Side) -> list[Message]:
    """Return ten messages of each stored QoS, one of which expires."""
    return [
        Message(
            f"t/{target.name}/{qos}",
            b"%d" % number,
            qos,
            number == 3,
            PROPERTIES,
            90.0 if number == 9 else None,
        )
        for number in range(10)
        for qos in (1, 2)
    ]


def make(path: Path) -> None:
    store = open_uplink_store(path)
    store.begin()
    for target in Side:
        stored = messages(target)
        store.messages[target].insert(stored)
        begun = [Exchange(number, 100 + number, stored[number - 1]) for number in (1, 2, 3, 4)]
        store.messages[target].start(begun)
        store.messages[target].release([begun[1]])
        store.note_received(target, [7, 65_000])
        store.set_property(f"session_{target.name.lower()}", f"session-{target.name}-0123abcd")
        store.set_property(f"subscriptions_{target.name.lower()}", '{"t/#": 2}')
    store.set_property("clock", "80.5")
    store.commit()
    store.close()


if __name__ == "__main__":
    make(Path(sys.argv[1]))
