"""A program of bytes that drives the real broker: several peers, commits, time, power cuts.

An input::

    limits and end u8 | (action u8 | count u8 | arguments of count bytes)...

An action is a method of `Player`, in the order of ACTIONS. Each action states its length, so an
action can be changed, moved or removed without changing the meaning of later actions. `story` has
one line per action, and is added to the notes of an exception.
"""

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from gateway.broker.core.effects import AuthenticationAnswer
from gateway.broker.core.sessions.connection import ConnectionState
from gateway.broker.wire.codes import CONTINUE_AUTHENTICATION
from gateway.broker.wire.encoder import encode
from gateway.broker.wire.packets import Packet, Puback, Pubcomp, Pubrec, Pubrel
from tests.instruments.fuzz.byte_program import ByteProgram, records_of
from tests.instruments.fuzz.made_packets import MAKERS, connect
from tests.instruments.fuzz.peer import Peer
from tests.instruments.fuzz.scratch import scratch_root
from tests.instruments.fuzz.world import World, limits_of

SLOTS: Final = 4
ACTIONS_MAX: Final = 150
"""Largest number of actions in a program, which limits its running time."""

VERSIONS: Final = (5, 4, 3)
SECONDS: Final = (0, 1, 5, 20, 31, 90, 301, 4_000)
ANSWERS: Final = (0, CONTINUE_AUTHENTICATION, 0x86, 0x87, 0x89)


class Player:
    """Runs one program."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.program = ByteProgram(b"")
        """The arguments of the current action."""
        self.slots: list[Peer | None] = [None] * SLOTS
        self.current = 0
        self.version = 5
        self.story: list[str] = []

    def play(self, record: bytes) -> None:
        """Run one action."""
        action = ACTIONS[record[0] % len(ACTIONS)]
        self.program = ByteProgram(record[1:])
        self.story.append(action.__name__)
        action(self)
        self.world.check()

    def _say(self, text: str) -> None:
        self.story[-1] += f" {text}"

    # -- peers

    def _peer(self) -> Peer:
        peer = self.slots[self.current]
        if peer is None or peer.closed:
            peer = self.world.open_peer()
            self.slots[self.current] = peer
            self.world.flush()
        self._say(f"[{self.current}]")
        return peer

    def choose(self) -> None:
        """Select another peer."""
        self.current = self.program.byte() % SLOTS

    def join(self) -> None:
        """Open a connection in the current slot, send CONNECT and commit."""
        self.version = self.program.pick(VERSIONS)
        peer = self._peer()
        packet = connect(self.program, self.version)
        self._send(peer, encode(packet, self.version), packet)
        self.world.commit()

    def lose(self) -> None:
        """Break the network connection."""
        self.world.lose(self._peer())

    # -- bytes

    def raw(self) -> None:
        """Send arbitrary bytes."""
        data = self.program.rest()
        self._send(self._peer(), data, data.hex(" "))

    def send(self) -> None:
        """Send a valid packet."""
        peer = self._peer()
        packet, wire = self._made(peer)
        self._send(peer, wire, packet)

    def mutate(self) -> None:
        """Send a packet with up to four bytes changed, or cut short."""
        peer = self._peer()
        _, wire = self._made(peer)
        changed = bytearray(wire)
        for _ in range(self.program.byte() % 4 + 1):
            changed[self.program.byte() % len(changed)] ^= self.program.byte()
        cut = self.program.byte()
        data = bytes(changed[:cut] if 0 < cut < len(changed) else changed)
        self._send(peer, data, data.hex(" "))

    def answer(self) -> None:
        """Acknowledge what is in flight, or release what is held, as a client would."""
        peer = self._peer()
        session = peer.connection.session
        if session is None or peer.connection.state is ConnectionState.AUTHENTICATING:
            return
        place = self.program.byte()
        packets: list[Packet] = [Pubrel(packet_id) for packet_id in sorted(peer.held)]
        for packet_id, step in peer.in_flight.items():
            packets.append((Pubcomp, Puback, Pubrec)[step](packet_id))
        if packets:
            packet = packets[place % len(packets)]
            self._send(peer, encode(packet, peer.version), packet)

    def _made(self, peer: Peer) -> tuple[Packet, bytes]:
        version = peer.said.version or self.version
        packet = self.program.pick(MAKERS)(self.program, version)
        return packet, encode(packet, version)

    def _send(self, peer: Peer, data: bytes, shown: object) -> None:
        self._say(str(shown))
        peer.send_bytes(data)

    # -- the event loop

    def turn(self) -> None:
        """Send everything that needs no commit."""
        self.world.load_pages()
        self.world.flush()

    def commit(self) -> None:
        """Commit, and check that all responses were sent."""
        self.world.commit()
        self.world.check_answered()

    def seal(self) -> None:
        """Seal one batch, and write some rows of a checkpoint."""
        self.world.seal(checkpoint_chunks=self.program.byte() % 8)

    def begin_checkpoint(self) -> None:
        """Begin a checkpoint of all changes so far."""
        self.world.begin_checkpoint()

    def authenticate(self) -> None:
        """Answer a pending authentication request."""
        self.world.flush()
        how = self.program.byte()
        if self.world.asked:
            request = self.world.asked.pop(how % len(self.world.asked))
            code = ANSWERS[how // 8 % len(ANSWERS)]
            if request.method is None and code == CONTINUE_AUTHENTICATION:
                code = 0  # a password check never continues
            self._say(f"0x{code:02X}")
            name = "bob" if how & 0x80 else "alice"
            data = b"riddle" if request.method else None
            made = AuthenticationAnswer(code, data, None if code else name, "no" if code else "")
            if request.connection.is_open:
                self.world.broker.authenticated(request.connection, made, self.world.now)

    def writable(self) -> None:
        """Toggle whether the socket's buffer is full."""
        peer = self._peer()
        self.world.broker.set_writable(
            peer.connection, not peer.connection.writable, self.world.now
        )

    def reading(self) -> None:
        """Toggle whether the event loop reads from a peer."""
        peer = self._peer()
        broker = self.world.broker
        broker.set_reading(peer.connection, not peer.connection.reading, self.world.now)

    def drop(self) -> None:
        """End the session, as an operator can."""
        session = self._peer().connection.session
        if session is not None and not session.ended:
            self.world.broker.drop_session(session, self.world.now)

    # -- time and power

    def wait(self) -> None:
        """Advance the time and run timers, without a commit."""
        seconds = self.program.pick(SECONDS)
        self._say(f"{seconds} s")
        world = self.world
        world.now += seconds
        world.time_ms += seconds * 1000
        world.broker.wake(world.now)

    def cut(self) -> None:
        """Cut the power when everything that needs no commit has been sent."""
        self.turn()
        self.world.cut()
        self.slots = [None] * SLOTS

    def cut_when_settled(self) -> None:
        """Cut the power when everything is durable."""
        self.world.cut_when_settled()
        self.slots = [None] * SLOTS

    def restart(self) -> None:
        """Stop and restart the broker."""
        self.world.restart()
        self.slots = [None] * SLOTS


ACTIONS: Final[Sequence[Callable[[Player], None]]] = (
    Player.send,
    Player.choose,
    Player.join,
    Player.commit,
    Player.answer,
    Player.turn,
    Player.wait,
    Player.lose,
    Player.raw,
    Player.mutate,
    Player.authenticate,
    Player.cut,
    Player.cut_when_settled,
    Player.seal,
    Player.begin_checkpoint,
    Player.writable,
    Player.reading,
    Player.drop,
    Player.restart,
)

CUT: Final = bytes([ACTIONS.index(Player.cut)])
CUT_AT_THE_END: Final = 0x20
"""A bit of the first byte: the power is cut after the last action."""


def check(data: bytes, make: type[World] = World) -> None:
    """Run an input, end all sessions, and raise if a promise is broken."""
    choice = data[0] if data else 0
    with tempfile.TemporaryDirectory(prefix="oncegate-fuzz-", dir=scratch_root()) as folder:
        world = make(Path(folder), limits_of(choice))
        player = Player(world)
        try:
            for record in records_of(data[1:])[:ACTIONS_MAX]:
                player.play(record)
            if choice & CUT_AT_THE_END:
                player.play(CUT)
            player.story.append("the end")
            world.end()
        except BaseException as error:
            error.add_note("\n".join(player.story))
            raise
        finally:
            world.close()
