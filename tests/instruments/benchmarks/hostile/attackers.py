"""All attacks, and the process in which one runs: not the honest client's, nor the broker's.

    python -m tests.instruments.benchmarks.hostile.attackers NAME SECONDS TARGET

The parent reads `ready` when the broker is prepared, writes a line, and reads what was done as
JSON. The attack's connections stay open until standard input ends.
"""

import asyncio
import json
import sys
from dataclasses import asdict
from typing import Final

from tests.instruments.benchmarks.hostile import connection_attacks as before_connect
from tests.instruments.benchmarks.hostile import session_attacks as sessions
from tests.instruments.benchmarks.hostile import topic_attacks as topics
from tests.instruments.benchmarks.hostile.attack import Attack, Hand, Target

CONTROL: Final = before_connect.Nothing

ATTACKS: Final[tuple[type[Attack], ...]] = (
    CONTROL,
    before_connect.NeverConnect,
    before_connect.ByteByByte,
    before_connect.ConnectStorm,
    before_connect.PartialConnects,
    before_connect.PartialPackets,
    before_connect.MalformedStorm,
    before_connect.WebSocketHosts,
    before_connect.ProxyHeaders,
    before_connect.UnixNames,
    before_connect.OpenExchanges,
    before_connect.WrongPasswords,
    topics.AliasFlood,
    topics.LongTopics,
    topics.DeepRetained,
    topics.EqualFilters,
    topics.ManyReplays,
    topics.MixedFilters,
    topics.ShareGroups,
    topics.SubscribeChurn,
    topics.SlowReaders,
    topics.ControlCharacters,
    sessions.Wills,
    sessions.Hoarders,
    sessions.TakeoverStorm,
    sessions.SessionChurn,
)

BY_NAME: Final = {attack.__name__: attack for attack in ATTACKS}


def target_text(target: Target) -> str:
    """A target as the last argument of the command."""
    return json.dumps(asdict(target))


async def attack(name: str, seconds: float, target: Target) -> None:
    """Prepare, wait for the word, attack, tell, and wait for the end."""
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    hand = Hand(target, seconds)
    chosen = BY_NAME[name]()
    await chosen.prepare(hand)
    print("ready", flush=True)
    if not await lines.readline():
        return
    hand.begin()
    problem = None
    try:
        await chosen.run(hand)
    except OSError as error:
        problem = f"{type(error).__name__}: {error}"
    print(json.dumps(hand.figures() | {"problem": problem}), flush=True)
    await lines.read()


if __name__ == "__main__":
    asyncio.run(attack(sys.argv[1], float(sys.argv[2]), Target(**json.loads(sys.argv[3]))))
