"""The plan of a run as values: the clients, the behaviour of the world, and the steps with times.

A plan is derived from a seed, written by hand, or reduced from another plan. The same plan always
gives the same run. A step that is not possible at its time does nothing, so any subset of the steps
is a plan as well.
"""

from dataclasses import dataclass, field

from gateway.broker.core.limits import Limits
from gateway.broker.core.when_full import WhenFull
from tests.instruments.simulation.disk import DiskKind
from tests.instruments.simulation.machine_clock import RIGHT
from tests.instruments.simulation.network import Weather

NEVER = 0xFFFF_FFFF


@dataclass(frozen=True)
class WillPlan:
    """The will in each CONNECT of a client."""

    topic: str = "t/1"
    qos: int = 1
    retain: bool = False
    delay_seconds: int = 0
    expiry_seconds: int | None = None


@dataclass(frozen=True)
class ClientPlan:
    """A client and its behaviour."""

    name: str
    version: int = 4
    clean: bool = False
    expiry_seconds: int = NEVER
    """Session expiry of a 5.0 client. With 0, its session ends with the connection."""
    receive_maximum: int = 0
    """The receive maximum of a 5.0 client, or 0 to send none."""
    window: int = 4
    """Largest number of QoS 1 and 2 messages in flight."""
    aliases: int = 0
    """Topic aliases that a 5.0 client uses, if the broker accepts as many."""
    topic_alias_maximum: int = 0
    """Topic aliases that a 5.0 client accepts."""
    keep_alive_seconds: int = 10
    thinking_seconds: float = 0.0
    """The time from a message to its acknowledgement."""
    filters: tuple[tuple[str, int], ...] = ()
    will: WillPlan | None = None

    @property
    def persistent(self) -> bool:
        """Return True if the client's session outlives its connections."""
        return not self.clean if self.version < 5 else self.expiry_seconds > 0


@dataclass(frozen=True)
class Publish:
    """A client publishes a message."""

    client: str
    topic: str = "t/1"
    qos: int = 2
    retain: bool = False
    padding: int = 0
    expiry_seconds: int | None = None


@dataclass(frozen=True)
class Subscribe:
    """A client subscribes, perhaps for a second time."""

    client: str
    topic_filter: str
    qos: int


@dataclass(frozen=True)
class Unsubscribe:
    """A client unsubscribes."""

    client: str
    topic_filter: str


@dataclass(frozen=True)
class Leave:
    """A client disconnects for a while, with or without DISCONNECT."""

    client: str
    seconds: float
    sends_disconnect: bool = True
    ends_session: bool = False
    """DISCONNECT has a session expiry of 0 (5.0)."""


@dataclass(frozen=True)
class TakeOver:
    """A client opens a second connection while the first exists."""

    client: str
    clean_start: bool = False


@dataclass(frozen=True)
class CutLink:
    """A client's connection breaks. Each end notices after some seconds, or never if None."""

    client: str
    broker_notices: float | None = 0.01
    client_notices: float | None = 0.01


@dataclass(frozen=True)
class StopReading:
    """A client stops reading for a while."""

    client: str
    seconds: float


@dataclass(frozen=True)
class CutPower:
    """The power is cut for a while."""

    down_seconds: float = 1.0
    clock: str = RIGHT
    """The state of the clock afterwards, a constant of `machine_clock`."""
    answered_after: float | None = None
    """Seconds until a time server responds, or None if none does."""


@dataclass(frozen=True)
class Kill:
    """The process is killed."""

    down_seconds: float = 0.5


@dataclass(frozen=True)
class StopBroker:
    """The broker is stopped cleanly, and started again."""

    down_seconds: float = 0.5


@dataclass(frozen=True)
class FailCommit:
    """The next COMMIT fails. With `kept`, its data are on the disk nevertheless."""

    kept: bool


@dataclass(frozen=True)
class FillDisk:
    """The disk is full for a while."""

    seconds: float


@dataclass(frozen=True)
class StallDisk:
    """The disk commits nothing for a while."""

    seconds: float


@dataclass(frozen=True)
class StepClock:
    """The wall clock jumps."""

    seconds: int
    trusted: bool = False
    """The kernel trusts the clock nevertheless."""


@dataclass(frozen=True)
class BeginClock:
    """The wall clock restarts in 1970."""


@dataclass(frozen=True)
class SynchroniseClock:
    """A time server responds."""


@dataclass(frozen=True)
class StopExport:
    """The uploader does not read the journal for a while."""

    seconds: float


Step = (
    Publish
    | Subscribe
    | Unsubscribe
    | Leave
    | TakeOver
    | CutLink
    | StopReading
    | CutPower
    | Kill
    | StopBroker
    | FailCommit
    | FillDisk
    | StallDisk
    | StepClock
    | BeginClock
    | SynchroniseClock
    | StopExport
)


@dataclass(frozen=True)
class Manners:
    """The broker's limits, and the behaviour of network and disk."""

    weather: Weather = field(default_factory=Weather)
    disk: DiskKind = field(default_factory=DiskKind)
    max_inflight: int = 4
    max_mqueue_len: int = 10_000
    when_full: WhenFull = WhenFull.DROP_NEWEST
    everyone_reads: bool = False
    """No client stops reading, so a slowing queue must not drop messages of a connected client."""
    mqueue_store_qos0: bool = False
    max_awaiting_rel: int = 20
    max_write_buffer_bytes: int = 4_000
    commit_delay_seconds: float = 0.0
    checkpoint_interval_seconds: float = 0.5

    def limits(self) -> Limits:
        """Return the limits for the broker's core."""
        limits = Limits()
        limits.max_inflight = self.max_inflight
        limits.max_mqueue_len = self.max_mqueue_len
        limits.when_full_of = lambda _: self.when_full
        limits.queues_refuse = self.when_full is WhenFull.REFUSE
        limits.mqueue_store_qos0 = self.mqueue_store_qos0
        limits.max_awaiting_rel = self.max_awaiting_rel
        limits.max_write_buffer_bytes = self.max_write_buffer_bytes
        return limits


@dataclass(frozen=True)
class Plan:
    """The plan of a whole run. `steps` has pairs: seconds since the start, and the step."""

    seed: str
    clients: tuple[ClientPlan, ...]
    steps: tuple[tuple[float, Step], ...]
    manners: Manners = field(default_factory=Manners)
    power_cuts: tuple[int, ...] = ()
    """Moments of the run before which the power is cut. A moment is between two callbacks."""
