"""All attacks, and the separate process that runs them.

    python -m tests.instruments.benchmarks.hostile.attackers NAME,NAME... SECONDS SHARE TARGET

The parent writes lines and reads responses:

    prepare    prepare the broker's state for the attacks; the response is `ready`
    attack     run all attacks concurrently, each starting after the one before;
               the response is a JSON object of their figures
    leave      cut all open connections; the response is `gone`

The process ends when its standard input is closed.
"""

import asyncio
import json
import sys
from dataclasses import asdict
from typing import Final

from tests.instruments.benchmarks.hostile import access_attacks as access
from tests.instruments.benchmarks.hostile import connection_attacks as before_connect
from tests.instruments.benchmarks.hostile import page_attacks as page
from tests.instruments.benchmarks.hostile import queue_attacks as queues
from tests.instruments.benchmarks.hostile import session_attacks as sessions
from tests.instruments.benchmarks.hostile import tls_attacks as tls
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
    before_connect.SlowUpgrades,
    before_connect.IdleHoard,
    tls.OpenHandshakes,
    tls.NoTls,
    tls.WrongRecords,
    tls.TinyRecords,
    tls.Renegotiation,
    tls.CertificateRubbish,
    access.OpenExchanges,
    access.WrongPasswords,
    access.WrongTokens,
    access.Forbidden,
    topics.AliasFlood,
    queues.WrongAliases,
    topics.LongTopics,
    topics.DeepRetained,
    topics.RetainedFlood,
    topics.EqualFilters,
    topics.ManyReplays,
    topics.MixedFilters,
    topics.ShareGroups,
    topics.SubscribeChurn,
    queues.TooManyFilters,
    topics.SlowReaders,
    queues.FullQueues,
    queues.RefusingCircles,
    queues.PacketFlood,
    topics.ControlCharacters,
    sessions.Wills,
    sessions.Hoarders,
    sessions.TakeoverStorm,
    sessions.SessionChurn,
    sessions.ByteASecond,
    page.HalfRequests,
    page.HugeRequests,
    page.WrongPageLogins,
    page.WrongPageTokens,
)

BY_NAME: Final = {attack.__name__: attack for attack in ATTACKS}


def target_text(target: Target) -> str:
    """Return a target as the last argument of the command."""
    return json.dumps(asdict(target))


BEGINNINGS: Final = 0.4
"""The fraction of the time within which all attacks start, one after the other."""


class Attackers:
    """Some attacks, each with its own connections and figures."""

    def __init__(self, names: list[str], seconds: float, share: float, target: Target) -> None:
        self._seconds = seconds
        self._attacks = [(BY_NAME[name](), Hand(target, seconds, share)) for name in names]

    async def prepare(self) -> None:
        """Prepare the broker's state for all attacks."""
        prepared = set()
        for attack, hand in self._attacks:
            # Several attacks share one preparation.
            if type(attack).prepare not in prepared:
                prepared.add(type(attack).prepare)
                await attack.prepare(hand)

    async def attack(self) -> dict[str, dict[str, int | str | None]]:
        """Run all attacks. Return the figures of each, and the error that stopped it or None."""
        pause = BEGINNINGS * self._seconds / len(self._attacks)
        problems = await asyncio.gather(
            *(
                self._run(attack, hand, place * pause if place else 0.0)
                for place, (attack, hand) in enumerate(self._attacks)
            )
        )
        return {
            type(attack).__name__: hand.figures() | {"problem": problem}
            for (attack, hand), problem in zip(self._attacks, problems, strict=True)
        }

    async def _run(self, attack: Attack, hand: Hand, after: float) -> str | None:
        hand.begin(after)
        await asyncio.sleep(after)
        try:
            await attack.run(hand)
        except OSError as error:
            return f"{type(error).__name__}: {error}"
        return None

    def leave(self) -> None:
        """Cut all open connections."""
        for _, hand in self._attacks:
            hand.leave()


async def obey(attackers: Attackers) -> None:
    """Run the commands from standard input until it is closed."""
    loop = asyncio.get_running_loop()
    lines = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(lines), sys.stdin)
    async for line in lines:
        match line:
            case b"prepare\n":
                await attackers.prepare()
                answer = "ready"
            case b"attack\n":
                answer = json.dumps(await attackers.attack())
            case _:
                attackers.leave()
                answer = "gone"
        print(answer, flush=True)


if __name__ == "__main__":
    _, names, seconds, share, target = sys.argv
    chosen = Attackers(names.split(","), float(seconds), float(share), Target(**json.loads(target)))
    asyncio.run(obey(chosen))
