"""The effect of each step of a plan on the world."""

from typing import TYPE_CHECKING, assert_never

from gateway.broker.core.sessions.message import DeliveryState
from tests.instruments.simulation.client import Client
from tests.instruments.simulation.ledger import Message
from tests.instruments.simulation.plan import (
    BeginClock,
    CutLink,
    CutPower,
    FailCommit,
    FillDisk,
    Kill,
    Leave,
    Publish,
    StallDisk,
    Step,
    StepClock,
    StopBroker,
    StopExport,
    StopReading,
    Subscribe,
    SynchroniseClock,
    TakeOver,
    Unsubscribe,
)

if TYPE_CHECKING:
    from tests.instruments.simulation.world import World

ClientStep = Publish | Subscribe | Unsubscribe | Leave | TakeOver | CutLink | StopReading

ClockStep = StepClock | BeginClock | SynchroniseClock


def take(world: "World", step: Step) -> None:
    """Perform a step."""
    world.tell("plan", "", step)
    if isinstance(step, ClientStep):
        client = world.clients.get(step.client)
        if client is not None:
            _take_by_client(world, client, step)
        return
    if isinstance(step, CutPower):
        cut_power(world, step)
    elif isinstance(step, Kill):
        _count_cut(world, "kills")
        world.machine.kill(step.down_seconds)
    elif isinstance(step, StopBroker):
        world.count("clean stops")
        world.machine.stop(step.down_seconds)
    elif isinstance(step, FailCommit):
        world.count("failing commits, kept" if step.kept else "failing commits, lost")
        world.disk.failing.append(step.kept)
    elif isinstance(step, FillDisk):
        world.count("full disks")
        world.disk.full_until = world.now + step.seconds
        world.disk.update_room()
        world.timeline.after(step.seconds, world.disk.update_room)
    elif isinstance(step, StallDisk):
        world.count("stalled disks")
        world.disk.stalled_until = world.now + step.seconds
    elif isinstance(step, ClockStep):
        _take_by_clock(world, step)
    elif isinstance(step, StopExport):
        world.export_stopped_until = world.now + step.seconds
    else:
        assert_never(step)


def _take_by_client(world: "World", client: Client, step: ClientStep) -> None:
    connecting = client.connecting
    if isinstance(step, Publish):
        _publish(world, client, step)
    elif isinstance(step, Subscribe):
        client.subscribe(step.topic_filter, step.qos)
    elif isinstance(step, Unsubscribe):
        client.unsubscribe(step.topic_filter)
    elif isinstance(step, Leave):
        world.count("departures with DISCONNECT" if step.sends_disconnect else "departures without")
        connecting.leave(
            step.seconds, sends_disconnect=step.sends_disconnect, ends_session=step.ends_session
        )
    elif isinstance(step, TakeOver):
        if connecting.attempt is not None:
            _count_takeover(world, client, step)
            connecting.open(clean_start=step.clean_start)
    elif isinstance(step, CutLink):
        if connecting.link is not None:
            half = step.broker_notices is None or step.client_notices is None
            world.count("half-open connections" if half else "broken connections")
            connecting.link.cut(
                broker_notices=step.broker_notices, client_notices=step.client_notices
            )
    elif isinstance(step, StopReading):
        if connecting.link is not None:
            world.count("clients that stop reading")
            connecting.link.pause(step.seconds)
    else:
        assert_never(step)


def _publish(world: "World", client: Client, step: Publish) -> None:
    client.published_count += 1
    expiry = step.expiry_seconds if client.plan.version == 5 else None
    message = Message(
        client.name,
        client.published_count,
        step.topic,
        step.qos,
        step.retain,
        step.padding,
        expiry,
    )
    client.publish(world.ledger.add(message))


def _count_takeover(world: "World", client: Client, step: TakeOver) -> None:
    world.count("takeovers with a clean start" if step.clean_start else "takeovers")
    if step.clean_start:
        return
    if any(outgoing.message.qos == 2 for outgoing in client.outgoing.values()):
        world.count("takeovers amid QoS 2 from the client")
    if client.incoming.unreleased:
        world.count("takeovers amid QoS 2 to the client")


def _take_by_clock(world: "World", step: ClockStep) -> None:
    if isinstance(step, StepClock):
        world.count("steps of the clock")
        world.timeline.clock.step(step.seconds, trusted=step.trusted)
    elif isinstance(step, BeginClock):
        world.count("clocks that begin in 1970")
        world.timeline.clock.step_to_1970()
    else:
        _synchronise(world)


def _synchronise(world: "World") -> None:
    world.count("clocks that are synchronised")
    world.timeline.clock.synchronise()


def cut_power(world: "World", cut: CutPower) -> None:
    """Cut the power. Afterwards the clock may be wrong."""
    if world.machine.life is None:
        return
    _count_cut(world, "power cuts")
    world.count(f"power cuts, and then a clock: {cut.clock}")
    world.machine.cut_power(cut.down_seconds)
    world.timeline.clock.lose_power(cut.down_seconds, cut.clock)
    if cut.answered_after is not None:
        world.timeline.after(cut.down_seconds + cut.answered_after, _synchronise, world)


def _count_cut(world: "World", what: str) -> None:
    life = world.machine.life
    if life is None:
        return
    world.count(what)
    if world.disk.pending is not None:
        world.count(f"{what} before COMMIT")
    if life.store.checkpointing or life.store.has_rows:
        world.count(f"{what} amid a checkpoint")
    sessions = life.broker.state.sessions.values()
    if any(session.inbound for session in sessions):
        world.count(f"{what} with QoS 2 received and not released")
    for session in sessions:
        states = {delivery.state for delivery in session.outbound.values() if delivery.qos == 2}
        if states:
            done = "PUBREC" if DeliveryState.RECEIVED in states else "PUBLISH"
            world.count(f"{what} with QoS 2 in flight, {done} last")
            return
