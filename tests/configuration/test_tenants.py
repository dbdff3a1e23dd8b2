"""A tenant's own settings, settings inherited from the top level, and names in error messages."""

from pathlib import Path

import pytest

from gateway.configuration import Configuration, ConfigurationError, load

ACME = "[[tenants.acme.listeners]]\nport = 1884\n"


def read(file: Path, text: str, tenant: str | None = None, **overrides: object) -> Configuration:
    file.write_text(text)
    named = {key.replace("__", "."): value for key, value in overrides.items()}
    return load(file, {}, named, None, tenant)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "gateway.toml"


def test_a_file_without_tenants_has_none(file: Path) -> None:
    assert read(file, "[mqtt]\nmax_inflight = 7\n").tenants == {}


def test_limits_are_taken_from_the_top_level_key_by_key(file: Path) -> None:
    text = "[mqtt]\nmax_inflight = 7\nmax_retained = 8\n[[queues]]\nclient = '*'\n"
    text += "when_full = 'drop_oldest'\n" + ACME + "[tenants.acme.mqtt]\nmax_retained = 9\n"
    acme = read(file, text).tenants["acme"]
    assert (acme.mqtt.max_inflight, acme.mqtt.max_retained) == (7, 9)
    assert len(acme.queues) == 1


def test_users_targets_hooks_page_and_uplink_are_never_taken_from_the_top_level(
    file: Path,
) -> None:
    text = "[access]\npassword_file = '/p'\nrules_file = '/r'\n[hooks]\nmodule = 'm'\n"
    text += "[upload]\ntarget = 's3://bucket/x'\n[api]\nport = 8090\nviewers = ['anna']\n"
    text += "[uplink]\naddress = 'broker.example:1883'\ntopics = [{filter = '#'}]\n"
    acme = read(file, text + ACME).tenants["acme"]
    assert acme.access.sources == ()
    assert acme.access.rules_file is None
    assert acme.hooks.module is None
    assert acme.uplink.address is None
    assert acme.api.viewers == ()
    assert acme.upload_target.endswith("/tenants/acme/uploaded")


def test_its_directories_are_its_own_and_the_gateways_id_is_that_of_all(file: Path) -> None:
    text = "[gateway]\nid = 'gw-7'\ndata_dir = '/d'\ncontrol_dir = '/c'\n"
    acme = read(file, text + ACME, "acme")
    assert acme.gateway.data_dir == Path("/d/tenants/acme")
    assert acme.gateway.control_socket == Path("/c/tenants/acme/control.sock")
    assert acme.gateway.id == "gw-7"
    assert acme.identity_dir == Path("/d")


def test_options_of_the_command_line_are_those_of_the_tenant_that_is_named(file: Path) -> None:
    acme = read(file, ACME, "acme", listen="127.0.0.1:1999", gateway__data_dir="/e")
    assert acme.listeners[0].port == 1999
    assert acme.gateway.data_dir == Path("/e/tenants/acme")


def test_a_tenant_that_is_not_there_is_refused_with_the_nearest_name(file: Path) -> None:
    with pytest.raises(ConfigurationError, match='did you mean "acme"'):
        read(file, ACME, "acne")
    with pytest.raises(ConfigurationError, match=r"no \[tenants.NAME\] is given"):
        read(file, "", "acme")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("tenants = 1", "[tenants] = 1 is not allowed: use a table for each tenant"),
        ("[tenants]\nacme = 1", "[tenants.acme] = 1 is not allowed: use a table"),
        ("[tenants.Acme]", '[tenants."Acme"] is not a valid name: use 1 to 32 of a-z, 0-9 and -'),
        (f"[tenants.{'a' * 33}]", "is not a valid name"),
        ("[tenants.acme]", "[[tenants.acme.listeners]] is missing"),
        (ACME + "[tenants.acme.gateway]\nid = 'x'", "[tenants.acme.gateway] is not allowed"),
        (ACME + "[[tenants.acme.serial]]\nname = 'x'", "[tenants.acme.serial] is not allowed"),
        (ACME + "[tenants.acme.mqtd]", 'is not a section of a tenant: did you mean "mqtt"?'),
        (ACME + "[tenants.acme.mqtt]\nmax_inflight = -1", "[tenants.acme.mqtt] max_inflight = -1"),
        (ACME + "anonymous = false", "use [tenants.acme.access] password_file"),
    ],
)
def test_a_mistake_is_named_as_it_is_written_in_the_file(file: Path, text: str, line: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        read(file, text)
    (problem,) = error.value.problems
    assert problem.startswith(f"{file}: ")
    assert line in problem


def test_there_are_64_at_the_most(file: Path) -> None:
    tables = "".join(f"[[tenants.t{n}.listeners]]\nport = {2000 + n}\n" for n in range(65))
    with pytest.raises(ConfigurationError, match="65 tenants are not allowed: use at most 64"):
        read(file, tables)
