"""Every expression in alert rules and dashboard is valid PromQL, and every metric exists."""

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import yaml

from docs.dashboard import PAGE, dashboard

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docs" / "monitoring"
METRICS_PAGE = ROOT / "docs" / "metrics.md"
NAME = re.compile(r"\boncegate_\w+")
OF_HISTOGRAM = re.compile(r"_(bucket|sum|count)$")


def promtool(*arguments: str, directory: Path = FOLDER) -> None:
    done = subprocess.run(
        ["promtool", *arguments], cwd=directory, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def expressions_of_rules() -> Iterator[str]:
    for group in yaml.safe_load((FOLDER / "oncegate.rules.yml").read_text())["groups"]:
        for rule in group["rules"]:
            yield rule["expr"]


def expressions_of_panels() -> Iterator[str]:
    for panel in json.loads(dashboard())["panels"]:
        for target in panel["targets"]:
            yield target["expr"]


def test_the_rules_fire_when_they_should_and_not_before() -> None:
    promtool("check", "rules", "oncegate.rules.yml")
    promtool("test", "rules", "rules_test.yml")


def test_each_panel_asks_in_promql(tmp_path: Path) -> None:
    rules = [
        {"record": f"panel:{number}", "expr": each.replace("$__rate_interval", "5m")}
        for number, each in enumerate(expressions_of_panels())
    ]
    assert len(rules) > 10
    (tmp_path / "panels.yml").write_text(json.dumps({"groups": [{"name": "p", "rules": rules}]}))
    promtool("check", "rules", "panels.yml", directory=tmp_path)


def test_every_metric_that_they_name_is_one_that_the_page_serves() -> None:
    served = set(re.findall(r"^\| `(\w+)` \|", METRICS_PAGE.read_text(), re.MULTILINE))
    named = {
        name for each in (*expressions_of_rules(), *expressions_of_panels())
        for name in NAME.findall(each)
    }  # fmt: skip
    missing = {name for name in named if OF_HISTOGRAM.sub("", name) not in served}
    assert missing == set()


def test_the_document_lists_every_rule() -> None:
    text = (ROOT / "docs" / "monitoring.md").read_text()
    groups = yaml.safe_load((FOLDER / "oncegate.rules.yml").read_text())["groups"]
    alerts = [rule["alert"] for group in groups for rule in group["rules"]]
    assert [alert for alert in alerts if f"`{alert}`" not in text] == []
    assert len(alerts) == 10, "the document states their number"


def test_the_dashboard_is_generated_and_its_panels_do_not_overlap() -> None:
    assert PAGE.read_text() == dashboard(), "run `make docs`"
    taken: set[tuple[int, int]] = set()
    for panel in json.loads(dashboard())["panels"]:
        place = panel["gridPos"]
        cells = {
            (left, top)
            for left in range(place["x"], place["x"] + place["w"])
            for top in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        taken |= cells
