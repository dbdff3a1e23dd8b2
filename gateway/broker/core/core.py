"""The `Core` class, which contains a broker's state, limits, timers and output."""

from gateway.broker.core.bans import Bans
from gateway.broker.core.effects import Effects
from gateway.broker.core.frames import Frames
from gateway.broker.core.incoming import Incoming
from gateway.broker.core.limits import DEFERRED_CONNECTIONS_MAX, Limits
from gateway.broker.core.login_rates import LoginRates
from gateway.broker.core.output import Output
from gateway.broker.core.permissions import Permissions
from gateway.broker.core.records.recorder import Recorder
from gateway.broker.core.sessions.connection import Connection
from gateway.broker.core.sessions.session import Session
from gateway.broker.core.state import State
from gateway.broker.core.statistics import Statistics
from gateway.broker.core.subscribe_request import PendingReplay, PendingSubscribe
from gateway.broker.core.timers import Timers
from gateway.broker.core.user_meters import UserMeters


class Core:
    """Container of the objects that make up a broker, such as its state, limits, timers and output.

    The functions that implement MQTT take a `Core` as their first argument.
    """

    def __init__(
        self,
        state: State,
        recorder: Recorder,
        limits: Limits,
        authenticates: bool,
        methods: list[str],
    ) -> None:
        self.state = state
        self.recorder = recorder
        self.limits = limits
        state.owners.assign(limits.quotas)
        self.authenticates = authenticates
        """True if user names are authenticated."""
        self.methods = methods
        """Methods of enhanced authentication that the authenticator supports."""
        self.permissions = Permissions(authenticates)
        self.bans = Bans()
        self.login_rates = LoginRates(limits)
        self.user_meters = UserMeters()
        self.statistics = Statistics()
        self.timers = Timers()
        self.time = state.time
        self.effects = Effects()
        self.output = Output(recorder, self.effects, self.statistics)
        self.frames = Frames(state.tree, state.time)
        self.incoming = Incoming()
        """Memory used by incomplete packets and topic aliases."""
        self.silent: dict[Connection, None] = {}
        """Open connections without a CONNECT so far, oldest first: rules/connect/silent.py."""
        self.deferred: dict[Connection, None] = {}
        """Connections with a deferred PUBLISH: rules/deliver/defer.py."""
        self.deferred_open_count = DEFERRED_CONNECTIONS_MAX
        """Open connections in `deferred` at the last count, at least DEFERRED_CONNECTIONS_MAX."""
        self.slowing: dict[Session, None] = {}
        """Sessions that slow down their publishers: rules/deliver/backpressure.py."""
        self.pending_subscribes: dict[Connection, PendingSubscribe] = {}
        """The SUBSCRIBE of each connection that has not been answered with SUBACK yet."""
        self.replays: dict[Connection, PendingReplay] = {}
        """Retained messages that have not been sent yet, by connection."""
        self.ended_clients: set[str] = set()
        """Clients whose persistent session ends in the current batch."""
        self.ended_clients_sealed: set[str] = set()
        """Clients whose persistent session ends in the batch that is being committed."""
