"""`oncegate check-config`: checks a configuration before anything is restarted."""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gateway.cli.common.configuration_file import file_of
from gateway.cli.common.failures import EXIT_CONFIGURATION, CommandFailed
from gateway.cli.common.options import ConfigOption, JsonOption, configuration_of
from gateway.cli.common.output import counted, show

if TYPE_CHECKING:
    from rich.console import RenderableType

    from gateway.configuration import Configuration


THE_GATEWAY = "the gateway"
"""The name in messages of the gateway's own broker, beside those of its tenants."""

ShowOption = Annotated[
    bool, typer.Option("--show", help="Print every key with its effective value.")
]
SchemaOption = Annotated[
    bool,
    typer.Option(
        "--schema",
        help="Print the JSON Schema of the configuration file, for an editor, instead of checking.",
    ),
]


def check_config(
    config: ConfigOption = None,
    show_keys: ShowOption = False,
    as_json: JsonOption = False,
    schema_only: SchemaOption = False,
) -> None:
    """Check the configuration file, the environment variables, and the files that they name.

    These files are, for example, password files and certificates. Each mistake
    is printed in one line with the file, the key, the value and the allowed
    values. With --json, every key is printed.

    Examples:

        oncegate check-config --config gateway.toml

        ONCEGATE_MQTT_MAX_INFLIGHT=64 oncegate check-config --show

        oncegate check-config --json

        oncegate check-config --schema > gateway.schema.json
    """
    if schema_only:
        _print_schema()
    else:
        _check(config, show_keys=show_keys, as_json=as_json)


def _check(config: Path | None, *, show_keys: bool, as_json: bool) -> None:
    from gateway.cli.installation.configuration_warnings import warnings_about
    from gateway.configuration.description import tables

    configuration = configuration_of(config)
    brokers = _checked_brokers_of(configuration)
    file = file_of(config)
    place = None if file is None else str(file)
    verdict = f"{place or 'the built-in configuration'}: can be used"
    warnings = warnings_about(configuration)
    sentences = [
        sentence if len(brokers) == 1 else f"{name}: {sentence}"
        for name, broker in brokers.items()
        for sentence in broker.values()
        if sentence is not None
    ]
    lines = "\n".join([verdict, *sentences, *warnings])
    show(
        {
            "file": place,
            "configuration": tables(configuration),
            **brokers[THE_GATEWAY],
            "tenants": {name: brokers[f"tenant {name}"] for name in configuration.tenants},
            "warnings": warnings,
        },
        lambda _: _table_of(configuration, verdict) if show_keys else lines,
        as_json=as_json,
    )


def _checked_brokers_of(configuration: "Configuration") -> dict[str, dict[str, str | None]]:
    """Check the files that the gateway and its tenants name.

    Return for the gateway and each tenant a sentence about its access rules and one about its page,
    which is None for a tenant without a page.

    Raises:
        CommandFailed: a file of the gateway or of a tenant has a mistake. The exception has one
            line for each mistake.
    """
    mistakes = [*_mistakes_in_files(configuration), *_mistakes_about_page(configuration)]
    rules = _rights_of(configuration, mistakes)
    brokers: dict[str, dict[str, str | None]] = {
        THE_GATEWAY: {"rules": rules, "page": _page_of(configuration)}
    }
    for name, tenant in configuration.tenants.items():
        wrong = [*_mistakes_in_files(tenant), *_mistakes_about_page(tenant)]
        rules = _rights_of(tenant, wrong)
        page = _page_of(tenant) if "api" in tenant.given else None
        brokers[f"tenant {name}"] = {"rules": rules, "page": page}
        mistakes += [f"tenant {name}: {line}" for line in wrong]
    if mistakes:
        raise CommandFailed(mistakes, exit_code=EXIT_CONFIGURATION)
    return brokers


def _mistakes_in_files(configuration: "Configuration") -> Iterator[str]:
    """Yield one line for each mistake in the files that a configuration names."""
    from gateway.broker.access.passwords.file import PasswordFile, PasswordFileError
    from gateway.cli.installation.own_users import mistakes_in_own_users
    from gateway.cli.services import bridge_settings, uplink

    if configuration.tenant is None and configuration.reaches_broker:
        try:
            bridge_settings.bridge_settings_of(configuration)
        except CommandFailed as error:
            yield from error.lines
    if configuration.tenant is None:
        yield from bridge_settings.mistakes_in_files_of(configuration)
    yield from uplink.mistakes_in_files_of(configuration)
    if configuration.access.password_file is not None:
        try:
            users = PasswordFile.load(configuration.access.password_file)
        except PasswordFileError as error:
            yield str(error)
        else:
            yield from mistakes_in_own_users(configuration, users)
    yield from _mistakes_in_sources(configuration)
    yield from _mistakes_in_certificates(configuration)


def _mistakes_in_sources(configuration: "Configuration") -> Iterator[str]:
    """Check each source of users except the password file, such as a database.

    Yield a message if a source cannot be used.
    """
    from gateway.broker.access.errors import AccessFileError
    from gateway.broker.server.starting import other_sources_of

    try:
        for source in other_sources_of(configuration).values():
            source.close()
    except AccessFileError as error:
        yield str(error)


def _mistakes_about_page(configuration: "Configuration") -> Iterator[str]:
    """Yield errors about the status page's users and its tokens file.

    A user of the page who is missing from the password file is an error if there is no other source
    of users. A tokens file that cannot be used is an error too.
    """
    from gateway.broker.access.passwords.file import PasswordFile, PasswordFileError
    from gateway.process.files.token_file import TokensFileError, read_tokens

    path = configuration.access.password_file
    # Users of another source are unknown before they log in.
    if path is not None and configuration.access.sources == ("password_file",):
        with contextlib.suppress(PasswordFileError):  # this is reported separately
            usernames = PasswordFile.load(path).usernames
            for name in configuration.api.roles:
                if name not in usernames:
                    yield f"[api]: {name!a} is not a user in {path}: oncegate passwd {path} {name}"
    if configuration.api.tokens_file is not None:
        try:
            read_tokens(configuration.api.tokens_file)
        except TokensFileError as error:
            yield str(error)


def _mistakes_in_certificates(configuration: "Configuration") -> Iterator[str]:
    """Yield the errors in the certificates of the listeners and of the page."""
    import time

    from gateway.broker.access.certificates.listener import CertificateError, load
    from gateway.broker.server.listeners.making import tls_files_of
    from gateway.cli.services import page_certificate

    files = [tls_files_of(each) for each in configuration.listeners if each.tls is not None]
    if configuration.api.tls is not None:
        files.append(page_certificate.tls_files_of(configuration.api.tls))
    for each in files:
        try:
            problem = load(each).problem_at(time.time())
        except CertificateError as error:
            problem = str(error)
        if problem is not None:
            yield problem


def _rights_of(configuration: "Configuration", mistakes: list[str]) -> str:
    """Return a sentence about the access rules in effect.

    If the rules are invalid, append error messages to `mistakes` and return an empty string.
    """
    from gateway.broker.access.rules.defaults import NAME
    from gateway.broker.access.rules.file import RulesFileError
    from gateway.broker.server.rights import bridge_user_of, open_listeners_of, rules_of

    try:
        rules = rules_of(configuration)
    except RulesFileError as error:
        mistakes += error.problems
        return ""
    if rules is None:
        return "no rules file: every client may publish and subscribe to everything"
    if rules.file.name == NAME:
        writer = "no user" if bridge_user_of(configuration) is None else "only the bridge"
        listeners = open_listeners_of(configuration)
        exception = f"; everything is allowed at {', '.join(listeners)}" if listeners else ""
        option = "" if configuration.tenant is None else f" --tenant {configuration.tenant}"
        return (
            f"no rules file: users have users/NAME/# and read sensors/#, to which {writer} may "
            f"publish{exception} (oncegate acl show{option})"
        )
    return f"{rules.file.name}: {counted(len(rules.file.rules), 'access rule')}"


def _page_of(configuration: "Configuration") -> str:
    """Return a sentence that states the status page's address and who may open the page."""
    page = configuration.api
    place = f"the page: {page.listens_at} port {page.port}"
    if page.stays_on_loopback:
        return (
            f"{place}, this machine only: without users it stays on loopback, and [api] bind = "
            f'"{page.bind}" does not count; name users in [api] viewers'
        )
    if page.has_users:
        unsafe = page.is_reached_from_network and page.tls is None
        warning = "; passwords are not encrypted on the network: [api] tls" if unsafe else ""
        groups = f" and {counted(len(page.group_roles), 'group')}" if page.group_roles else ""
        return f"{place}, for {counted(len(page.roles), 'user')}{groups} who log in{warning}"
    if page.is_reached_from_network:
        return f"{place}, for everyone on the network"
    return f"{place}, for everyone on this machine"


def _print_schema() -> None:
    import json

    from firmware_bridge.protocols.table import PROTOCOLS

    from gateway.configuration.schema import schema

    print(json.dumps(schema(PROTOCOLS), indent=1))


def _table_of(configuration: "Configuration", verdict: str) -> "RenderableType":
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from gateway.configuration.description import keys

    table = Table("key", "value", "set in", box=box.SIMPLE)
    for key in keys(configuration):
        style = None if key.is_set else "dim"
        table.add_row(Text(key.name), Text(key.text), Text(key.source or "default"), style=style)
    return Group(table, Text(verdict, no_wrap=True, overflow="ignore"))
