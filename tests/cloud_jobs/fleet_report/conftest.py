"""The simulated fleet and its report, written once for all tests that only read them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from cloud_jobs.fleet_report.figures import Figures, read_figures
from cloud_jobs.fleet_report.folder import Written, write_report
from cloud_jobs.fleet_report.names import Names, read_names
from tests.cloud_jobs.fleet_report.simulated_fleet import NOW, write_simulated_fleet


@dataclass(frozen=True, slots=True)
class Fleet:
    """The tables, and the report written from them."""

    root: Path
    folder: Path
    names: Names
    figures: Figures
    written: Written

    def page_of(self, gateway: str) -> str:
        """Return the text of a gateway's page. Its file name begins with the gateway's id."""
        (path,) = (self.folder / "gateways").glob(f"{gateway}-*.html")
        return path.read_text()


@pytest.fixture(scope="session")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Fleet:
    root = tmp_path_factory.mktemp("simulated-fleet")
    write_simulated_fleet(root, quarter_days=2)
    names = read_names(root / "names.csv")
    folder = root / "report"
    written = write_report(
        str(root), folder, days=30, names=names, now=NOW, progress=lambda _written, _count: None
    )
    return Fleet(root, folder, names, read_figures(str(root), 30, NOW), written)
