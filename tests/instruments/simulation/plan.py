"""What a run consists of, as values: the clients, the world's manners, and what happens when.

A plan is made from a seed, written by hand, or cut down from another plan; the same plan is always
the same run. A step that makes no sense when it comes up does nothing, so that any subset of the
steps is a plan as well.
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
    """The will of a client's every connection."""

    topic: str = "t/1"
    qos: int = 1
    retain: bool = False
    delay_seconds: int = 0
    expiry_seconds: int | None = None


@dataclass(frozen=True)
class ClientPlan:
    """A client and its manners."""

    name: str
    version: int = 4
    clean: bool = False
    expiry_seconds: int = NEVER
    """Session expiry of a 5.0 client; 0: its session ends with the connection."""
    receive_maximum: int = 0
    """0: sends nothing. 5.0 only."""
    window: int = 4
    """QoS 1 and 2 messages it has under way at a time."""
    aliases: int = 0
    """Topic aliases it uses where the broker takes as many. 5.0 only, as the next."""
    topic_alias_maximum: int = 0
    """Topic aliases it takes."""
    keep_alive_seconds: int = 10
    thinking_seconds: float = 0.0
    """How long it takes to acknowledge a message."""
    filters: tuple[tuple[str, int], ...] = ()
    will: WillPlan | None = None

    @property
    def persistent(self) -> bool:
        """Return whether its session outlives its connections."""
        return not self.clean if self.version < 5 else self.expiry_seconds > 0


@dataclass(frozen=True)
class Publish:
    """A client's application publishes."""

    client: str
    topic: str = "t/1"
    qos: int = 2
    retain: bool = False
    padding: int = 0
    expiry_seconds: int | None = None


@dataclass(frozen=True)
class Subscribe:
    """A client subscribes, perhaps once more."""

    client: str
    topic_filter: str
    qos: int


@dataclass(frozen=True)
class Unsubscribe:
    """A client gives up a subscription."""

    client: str
    topic_filter: str


@dataclass(frozen=True)
class Leave:
    """A client goes away for a while: with DISCONNECT, or without a word."""

    client: str
    seconds: float
    sends_disconnect: bool = True
    ends_session: bool = False
    """DISCONNECT with a session expiry of 0 (5.0)."""


@dataclass(frozen=True)
class TakeOver:
    """A client opens a second connection beside its first."""

    client: str
    clean_start: bool = False


@dataclass(frozen=True)
class CutLink:
    """A client's connection breaks; each end notices after a while, or (None) never."""

    client: str
    broker_notices: float | None = 0.01
    client_notices: float | None = 0.01


@dataclass(frozen=True)
class StopReading:
    """A client does not read for a while."""

    client: str
    seconds: float


@dataclass(frozen=True)
class CutPower:
    """The power goes."""

    down_seconds: float = 1.0
    clock: str = RIGHT
    """What the clock shows when it is back, one of `machine_clock`."""
    answered_after: float | None = None
    """How long it takes then until a time server answers; None: none does."""


@dataclass(frozen=True)
class Kill:
    """The process is killed."""

    down_seconds: float = 0.5


@dataclass(frozen=True)
class StopBroker:
    """The broker is stopped as it should be, and started again."""

    down_seconds: float = 0.5


@dataclass(frozen=True)
class FailCommit:
    """The next COMMIT fails; what it wrote may be there all the same."""

    kept: bool


@dataclass(frozen=True)
class FillDisk:
    """There is no room for another page for a while."""

    seconds: float


@dataclass(frozen=True)
class StallDisk:
    """Nothing is committed for a while."""

    seconds: float


@dataclass(frozen=True)
class StepClock:
    """The wall clock jumps."""

    seconds: int
    trusted: bool = False
    """The kernel believes that it is right all the same."""


@dataclass(frozen=True)
class BeginClock:
    """The wall clock begins in 1970 again."""


@dataclass(frozen=True)
class SynchroniseClock:
    """A time server answers."""


@dataclass(frozen=True)
class StopExport:
    """The journal is not read for a while."""

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
    """The broker's limits and the world's temper."""

    weather: Weather = field(default_factory=Weather)
    disk: DiskKind = field(default_factory=DiskKind)
    max_inflight: int = 4
    max_mqueue_len: int = 10_000
    when_full: WhenFull = WhenFull.DROP_NEWEST
    everyone_reads: bool = False
    """No client stops reading: a queue that slows its publishers drops nothing while connected."""
    mqueue_store_qos0: bool = False
    max_awaiting_rel: int = 20
    max_write_buffer_bytes: int = 4_000
    commit_delay_seconds: float = 0.0
    checkpoint_interval_seconds: float = 0.5

    def limits(self) -> Limits:
        """The broker's limits as its core has them."""
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
    """A whole run. `steps`: when (seconds from the start) and what."""

    seed: str
    clients: tuple[ClientPlan, ...]
    steps: tuple[tuple[float, Step], ...]
    manners: Manners = field(default_factory=Manners)
    power_cuts: tuple[int, ...] = ()
    """Moments of the run before which the power goes: boundaries between any two callbacks."""
