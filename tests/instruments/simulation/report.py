"""The report on a failing run: readable, and with a command to repeat it."""

from dataclasses import fields

from tests.instruments.simulation.plan import ClientPlan, Manners
from tests.instruments.simulation.runs import Outcome
from tests.instruments.simulation.story import reported


def report_of(outcome: Outcome, how: str) -> str:
    """Return the story of a failing run. `how` is the command that repeats it."""
    assert outcome.violation is not None, "nothing failed"
    plan = outcome.plan
    lines = [
        f"BROKEN: {outcome.violation.rule}",
        f"  {outcome.violation.sentence}",
        f"  again: {how}",
        "",
        "Clients:",
        *(f"  {_client_text(client)}" for client in plan.clients),
        f"The world: {_text_if_special(plan.manners, Manners())}",
        "Plan:",
        *(f"  {when:8.3f}  {reported(step)}" for when, step in plan.steps),
    ]
    if plan.power_cuts:
        lines.append(f"  power cut before moment {', '.join(map(str, plan.power_cuts))}")
    lines += ["", "What happened (moment, seconds, who, what):", *outcome.story]
    cause = outcome.violation.__cause__
    if cause is not None and cause.__traceback__ is not None:
        last = cause.__traceback__
        while last.tb_next is not None:
            last = last.tb_next
        lines.append(f"raised in {last.tb_frame.f_code.co_filename}:{last.tb_lineno}")
    return "\n".join(lines)


def _client_text(client: ClientPlan) -> str:
    return f"{client.name}: {_text_if_special(client, ClientPlan(client.name))}"


def _text_if_special(thing: ClientPlan | Manners, plain: object) -> str:
    words = [
        f"{field.name} {getattr(thing, field.name)}"
        for field in fields(thing)
        if getattr(thing, field.name) != getattr(plain, field.name)
    ]
    return ", ".join(words) or "plain"
