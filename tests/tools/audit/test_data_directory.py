"""A data directory as found on a disk: the journal of a real core and store, and its tables."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.broker.core.rules.deliver import fan_out
from gateway.broker.wire.packets import Publish, Pubrel
from gateway.tools.audit.findings import Findings
from gateway.tools.audit.run import Audit
from tests.broker.core.harness import Harness
from tests.broker.store.test_wild_lives import lived

STEPS = 300


def audit_of(data_dir: Path) -> Findings:
    return Audit(data_dir, lambda _events, _what: None).data_directory(data_dir, "gw")


@pytest.mark.parametrize("seed", range(10))
def test_no_wild_life_with_cuts_and_takeovers_is_called_a_violation(
    tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    life = lived(tmp_path, seed, monkeypatch, STEPS)
    life.harness.close()
    findings = audit_of(tmp_path)
    wrong = [one for one in findings.exceptions if one.verdict == "violation"]
    assert not wrong, wrong
    # The log does not show two things: an expiry before the release, and the No Local option of a
    # subscription.
    assert {one.check for one in findings.exceptions} <= {"fan_out"}
    assert findings.counts.entries > 0


Mutate = Callable[[Harness, pytest.MonkeyPatch], None]


def _forget_entry(_: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fan_out, "distribute", lambda *_: None)


def _deliver_twice(_: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    once: Callable[..., None] = fan_out.distribute

    def twice(*arguments: object) -> None:
        once(*arguments)
        once(*arguments)

    monkeypatch.setattr(fan_out, "distribute", twice)


def _never_forget_held(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness.broker.state, "message_released", lambda held: None)


@pytest.mark.parametrize(
    ("mutate", "check"),
    [
        (_forget_entry, "fan_out"),
        (_deliver_twice, "fan_out"),
        (_never_forget_held, "released_once"),
    ],
)
def test_a_broker_that_fails_a_check_is_found_by_its_own_log(
    tmp_path: Path, mutate: Mutate, check: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = Harness(tmp_path)
    harness.subscriber("watch", "t", 2)
    client = harness.connect("sensor")
    mutate(harness, monkeypatch)
    client.send(Publish("t", b"x", 2, False, False, 1), Pubrel(1), Pubrel(1))
    harness.commit()
    harness.close()
    findings = audit_of(tmp_path)
    assert findings.verdict == "violation"
    assert check in {one.check for one in findings.exceptions}
