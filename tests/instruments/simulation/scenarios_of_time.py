"""Handwritten plans in which clocks jump and the power is off for longer than an interval."""

from tests.instruments.simulation.disk import DiskKind
from tests.instruments.simulation.machine_clock import (
    AHEAD,
    BACK,
    PAST,
    RIGHT,
    STOPPED,
    YEARS_SECONDS,
)
from tests.instruments.simulation.network import Weather
from tests.instruments.simulation.plan import (
    BeginClock,
    ClientPlan,
    CutPower,
    Leave,
    Manners,
    Plan,
    Publish,
    StepClock,
    StopBroker,
    StopExport,
    SynchroniseClock,
    WillPlan,
)

QUICK = Manners(Weather(0.001), DiskKind(0.002), checkpoint_interval_seconds=0.5)

P = ClientPlan("p", version=5, keep_alive_seconds=20)
S = ClientPlan("s", version=5, filters=(("t/#", 2),), keep_alive_seconds=20)
SHORT = ClientPlan("short", version=5, expiry_seconds=20, keep_alive_seconds=20)
YOUNG = ClientPlan("young", version=5, expiry_seconds=20, keep_alive_seconds=20)
WILL = WillPlan("t/will", 1, delay_seconds=15, expiry_seconds=60)
HEIR = ClientPlan("heir", version=5, will=WILL, keep_alive_seconds=20)

ALL_OVER = StopExport(0.0)
"""The last step. Until then clients that are away do not return."""

SCENARIOS_OF_TIME: tuple[Plan, ...] = (
    Plan(
        "the clock steps by years, to 1970 and a minute back while messages wait",
        (P, S, SHORT, HEIR),
        (
            (0.1, Leave("s", 4.0)),
            (0.11, Leave("short", 5.0)),
            (0.12, Leave("heir", 3.0, sends_disconnect=False)),
            (0.2, Publish("p", qos=2, expiry_seconds=60)),
            (0.21, Publish("p", "t/2", qos=1, retain=True, expiry_seconds=3_600)),
            (0.5, StepClock(YEARS_SECONDS)),
            (0.6, Publish("p", qos=1, expiry_seconds=60)),
            (1.1, BeginClock()),
            (1.2, Publish("p", qos=2, expiry_seconds=10)),
            (1.7, SynchroniseClock()),
            (1.8, StepClock(-60, trusted=True)),
            (2.0, Publish("p", "t/3", qos=2, retain=True, expiry_seconds=2)),
            (2.5, StepClock(60, trusted=True)),
            (4.5, StopBroker(0.3)),
            (5.5, ALL_OVER),
        ),
        QUICK,
    ),
    Plan(
        "the power is off, and how long is known later",
        (P, S, SHORT, YOUNG),
        (
            (0.1, Leave("s", 28.0)),
            (0.11, Leave("short", 28.0)),
            (0.2, Publish("p", qos=2, expiry_seconds=15)),
            (0.21, Publish("p", qos=2, expiry_seconds=3_600)),
            (0.22, Publish("p", "t/2", qos=1, retain=True, expiry_seconds=15)),
            (2.5, CutPower(20.0, STOPPED, answered_after=2.0)),
            (23.8, Publish("p", qos=1, expiry_seconds=15)),
            (23.9, Publish("p", "t/3", qos=2, retain=True, expiry_seconds=15)),
            (24.0, Leave("young", 4.5)),
            (29.0, ALL_OVER),
        ),
        QUICK,
    ),
    Plan(
        "the power is off for a time that is known at the start",
        (P, S, ClientPlan("long", version=5, expiry_seconds=30, keep_alive_seconds=20)),
        (
            (0.1, Leave("s", 35.0)),
            (0.11, Leave("long", 35.0)),
            (0.2, Publish("p", qos=2, expiry_seconds=25)),
            (0.21, Publish("p", qos=2, expiry_seconds=3_600)),
            (21.0, CutPower(12.0, RIGHT)),
            (36.0, ALL_OVER),
        ),
        QUICK,
    ),
    Plan(
        "the power goes three times before a time server answers",
        (P, S, SHORT),
        (
            (0.1, Leave("s", 20.0)),
            (0.11, Leave("short", 15.0)),
            (0.2, Publish("p", qos=2, expiry_seconds=60)),
            (0.21, Publish("p", "t/2", qos=1, retain=True, expiry_seconds=60)),
            (1.05, BeginClock()),
            (1.1, Publish("p", qos=1, expiry_seconds=60)),
            (1.5, CutPower(4.0, BACK)),
            (7.5, Publish("p", qos=2, expiry_seconds=13)),
            (9.0, CutPower(4.0, AHEAD)),
            (14.5, Publish("p", qos=1, expiry_seconds=13)),
            (15.0, CutPower(2.0, PAST, answered_after=1.0)),
            (18.8, Publish("p", "t/3", qos=2, retain=True, expiry_seconds=3_600)),
            (21.0, ALL_OVER),
        ),
        QUICK,
    ),
)
