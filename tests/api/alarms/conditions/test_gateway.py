"""All alarm conditions of a gateway together."""

from api.alarms.conditions.condition import Level
from api.alarms.conditions.gateway import conditions_of
from api.alarms.conditions.thresholds import Thresholds
from api.alarms.kinds import KINDS
from api.models.broker import Certificate
from tests.api import recorded
from tests.api.alarms.gateway import Gateway, warning


def test_a_healthy_gateway_has_no_condition(gateway: Gateway) -> None:
    assert gateway.conditions() == ()


def test_a_gateway_without_bridge_and_uploader_is_informed_of_it(gateway: Gateway) -> None:
    gateway.bridge = gateway.uploader = gateway.bridge_age_seconds = None
    assert [level for level, _ in gateway.sentences()] == [Level.INFORMATION] * 2


def test_the_most_severe_conditions_come_first(gateway: Gateway) -> None:
    gateway.uploader = None
    gateway.broker["warnings"] = [warning("One."), warning("Two.")]
    gateway.broker["disk"]["full"] = True
    levels = [condition.level for condition in gateway.conditions()]
    assert levels == [Level.BAD, Level.ATTENTION, Level.ATTENTION, Level.INFORMATION]
    assert all(condition.id in KINDS for condition in gateway.conditions())


def test_the_page_s_own_certificate_is_a_condition_when_it_ends(gateway: Gateway) -> None:
    problem = "server.pem: expires in 5 days: renew it"
    certificate = Certificate(
        subject="gateway", not_after_ms=recorded.NOW_MS, days_left=5, problem=problem
    )
    [condition] = conditions_of(gateway.overview(), None, certificate, Thresholds())
    assert condition.level is Level.ATTENTION
    assert condition.text == "This page's certificate: server.pem: expires in 5 days: renew it."


def test_a_listener_s_certificate_has_the_level_of_its_days(gateway: Gateway) -> None:
    found = []
    for days_left in (20, 5, 0):
        certificate = {
            "subject": "gateway",
            "not_after_ms": recorded.NOW_MS,
            "days_left": days_left,
            "problem": "server.pem: expires soon: renew it",
        }
        gateway.broker["listeners"][0]["certificate"] = certificate
        ends = {"id": "certificate", "subject": "gateway", "sentence": "It ends.", "fix": ""}
        gateway.broker["warnings"] = [ends]
        [condition] = gateway.conditions()
        found.append(condition.level.word)
    assert found == ["info", "warning", "critical"]
