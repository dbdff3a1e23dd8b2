"""Reduction of a failing plan to a small one that fails in the same way.

Steps, clients and cuts are removed as long as the same rule is broken. Then the remaining plan is
simplified. Every candidate is run, so the result is a run that really fails.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.instruments.simulation.plan import ClientPlan, Manners, Plan, Publish, Step
from tests.instruments.simulation.runs import Outcome, run

RUNS_MAX = 400
"""Largest number of candidates, which takes some ten seconds."""

PLAINER = (
    "will",
    "thinking_seconds",
    "receive_maximum",
    "aliases",
    "topic_alias_maximum",
    "window",
    "version",
    "clean",
)
"""Features of a client that are removed in this order: aliases before the version that has them."""

Run = Callable[[Plan], Outcome]


def shrink(outcome: Outcome, run_plan: Run = run, runs_max: int = RUNS_MAX) -> Outcome:
    """Return the smallest failing run that was found, or `outcome` itself."""
    assert outcome.violation is not None, "only a failing run can be made smaller"
    rule, best, runs = outcome.violation.rule, outcome, 0
    while True:
        for candidate in _smaller(best.plan):
            runs += 1
            if runs > runs_max:
                return best
            tried = run_plan(candidate)
            if tried.violation is not None and tried.violation.rule == rule:
                best = tried
                break
        else:
            return best


def _smaller(plan: Plan) -> Iterator[Plan]:
    """Yield reduced plans, with the largest reductions first."""
    size = len(plan.steps) // 2
    while size:
        for start in range(0, len(plan.steps), size):
            yield replace(plan, steps=plan.steps[:start] + plan.steps[start + size :])
        size //= 2
    for client in plan.clients:
        if len(plan.clients) > 1:
            yield _without(plan, client)
    for index in range(len(plan.power_cuts)):
        cuts = plan.power_cuts[:index] + plan.power_cuts[index + 1 :]
        yield replace(plan, power_cuts=cuts)
    if plan.manners != Manners():
        yield replace(plan, manners=Manners())
    for index, client in enumerate(plan.clients):
        for plainer in _plainer(client):
            clients = (*plan.clients[:index], plainer, *plan.clients[index + 1 :])
            yield replace(plan, clients=clients)
    for index, (when, step) in enumerate(plan.steps):
        for plainer_step in _plainer_step(step):
            changed = (when, plainer_step)
            yield replace(plan, steps=(*plan.steps[:index], changed, *plan.steps[index + 1 :]))


def _without(plan: Plan, client: ClientPlan) -> Plan:
    return replace(
        plan,
        clients=tuple(other for other in plan.clients if other is not client),
        steps=tuple(step for step in plan.steps if getattr(step[1], "client", None) != client.name),
    )


def _plainer(client: ClientPlan) -> Iterator[ClientPlan]:
    for index in range(len(client.filters)):
        yield replace(client, filters=client.filters[:index] + client.filters[index + 1 :])
    plain = ClientPlan(client.name)
    for name in PLAINER:
        if getattr(client, name) != getattr(plain, name):
            yield replace(client, **{name: getattr(plain, name)})


def _plainer_step(step: Step) -> Iterator[Step]:
    if isinstance(step, Publish):
        for name, value in (("padding", 0), ("retain", False), ("expiry_seconds", None)):
            if getattr(step, name) != value:
                yield replace(step, **{name: value})  # type: ignore[arg-type]
