"""The processes that run for a gateway and for its tenants."""

from pathlib import Path

from gateway.cli.supervision.children import children_of
from gateway.configuration import load

TENANTS = """
[[tenants.acme.listeners]]
port = 1884
[tenants.acme.api]
port = 8081
[[tenants.beta.listeners]]
port = 1885
[tenants.beta.uplink]
address = "broker.example:8883"
topics = [{ filter = "#" }]
"""


def test_a_tenant_has_a_page_and_an_uplink_where_its_tables_have_them(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(TENANTS)
    configuration = load(file, {}, {}, None)
    found = children_of(configuration, ["--config", str(file)], as_services=True)
    assert [each.name for each in found] == [
        *("broker", "upload", "api", "bridge"),
        *("broker of acme", "upload of acme", "api of acme"),
        *("broker of beta", "upload of beta", "uplink of beta"),
    ]
    assert all(
        [*each.command][-2:] == ["--tenant", each.name.split()[-1]]
        for each in found
        if " of " in each.name
    )


def test_no_tenant_is_waited_for(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(TENANTS)
    found = children_of(load(file, {}, {}, None), [], as_services=True)
    assert not any(each.reports_ready for each in found if " of " in each.name)
