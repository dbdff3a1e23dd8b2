"""`oncegate acl`: tests and lists access rules, and converts Mosquitto's access rules."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from gateway.cli.common.failures import EXIT_CONFIGURATION, EXIT_FAILED, EXIT_OK, CommandFailed
from gateway.cli.common.options import ConfigOption, JsonOption, TenantOption, configuration_of
from gateway.cli.common.output import show as show_document

if TYPE_CHECKING:
    from rich.console import RenderableType

    from gateway.broker.access.rules.evaluation import Decision, FileRules
    from gateway.broker.access.rules.rule import Rule

application = typer.Typer(
    help="Test and list access rules, and convert Mosquitto's acl file.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
ANONYMOUS = "-"
Action = Literal["connect", "publish", "subscribe", "receive"]
FileOption = Annotated[
    Path | None,
    typer.Option("--file", metavar="FILE", help="Rules file, instead of the configured one."),
]


@application.command("test")
def answer(
    user: Annotated[str, typer.Argument(help="User name, or - for a client without a user.")],
    action: Annotated[Action, typer.Argument(help="Action of the client.")],
    topic: Annotated[str, typer.Argument(help="Topic or topic filter. Omit with connect.")] = "",
    client_id: Annotated[str, typer.Option("--client-id", help="Client id.")] = "",
    listener: Annotated[
        str, typer.Option("--listener", help="Listener, as named by `acl show`.")
    ] = "",
    qos: Annotated[int, typer.Option("--qos", help="QoS: 0, 1 or 2.", min=0, max=2)] = 0,
    retain: Annotated[bool, typer.Option("--retain", help="Test a retained message.")] = False,
    file: FileOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    tenant: TenantOption = None,
) -> int:
    """Print whether the access rules allow an action, and which line decides it.

    The exit code is 0 for allowed and 1 for denied.

    Examples:

        oncegate acl test anna subscribe 'sensors/#' --qos 1

        oncegate acl test - connect --listener 0.0.0.0:1883
    """
    from gateway.broker.core.permissions import Client

    _refuse_topic(action, topic)
    rules = _rules_of(file, config, tenant)
    if rules is None:
        document: dict[str, Any] = {"allowed": True, "line": None, "rule": None, "file": None}
    else:
        client = Client(client_id, None if user == ANONYMOUS else user, listener)
        decision = rules.decide(client, action, topic, qos=qos, retain=retain)
        document = _document_of(rules, decision)
    show_document(document, _sentence_of, as_json=as_json)
    return EXIT_OK if document["allowed"] else EXIT_FAILED


@application.command("show")
def show_rules(
    user: Annotated[
        str | None,
        typer.Option(
            "--user", help="Only rules that concern this user, or with - clients without a user."
        ),
    ] = None,
    file: FileOption = None,
    config: ConfigOption = None,
    as_json: JsonOption = False,
    tenant: TenantOption = None,
) -> None:
    """List the access rules in effect, or only those that concern a user.

    The placeholders %u (user name) and %c (client id) are shown unchanged.
    Rules that apply only to certain client ids or listeners are listed too.

    Examples:

        oncegate acl show

        oncegate acl show --user cellar
    """
    rules = _rules_of(file, config, tenant)
    if rules is None:
        show_document({"file": None, "rules": []}, lambda _: _OPEN, as_json=as_json)
        return
    found = [rule for rule in rules.file.rules if user is None or _is_about(rule, user)]
    document = {
        "file": rules.file.name,
        "rules": [{"line": rule.line, "rule": rule.text} for rule in found],
    }
    show_document(document, _table_of, as_json=as_json)


@application.command("import")
def import_rules(
    file: Annotated[Path, typer.Argument(help="Mosquitto acl file.")],
) -> None:
    """Convert Mosquitto's access rules (its acl_file) to Oncegate's format, and print them.

    Example:

        oncegate acl import /etc/mosquitto/acl > /etc/oncegate/access.rules
    """
    from gateway.broker.access.rules.file import RulesFileError
    from gateway.broker.access.rules.mosquitto import rules_text_of

    try:
        text = rules_text_of(file.read_bytes(), str(file))
    except RulesFileError as error:
        raise CommandFailed(error.problems, exit_code=EXIT_CONFIGURATION) from None
    print(text, end="")


_OPEN = "no rules: everything is allowed"


def _refuse_topic(action: str, topic: str) -> None:
    from gateway.broker.wire.topics import validate_topic_filter, validate_topic_name

    if action == "connect":
        error = "connect has no topic: leave it out" if topic else None
    elif action == "subscribe":
        error = validate_topic_filter(topic)
    else:
        error = validate_topic_name(topic)
    if error is not None:
        raise CommandFailed(f"oncegate acl test: {error}", exit_code=EXIT_CONFIGURATION)


def _rules_of(file: Path | None, config: Path | None, tenant: str | None) -> "FileRules | None":
    """Return the rules in `file`. If `file` is None, return the rules that the broker would use.

    The result is None if everything is allowed. Raises CommandFailed if the rules are invalid.
    """
    from gateway.broker.access.rules.evaluation import FileRules
    from gateway.broker.access.rules.file import RulesFileError, load
    from gateway.broker.server.rights import rules_of

    try:
        return (
            FileRules(load(file))
            if file is not None
            else rules_of(configuration_of(config, tenant=tenant))
        )
    except RulesFileError as error:
        raise CommandFailed(error.problems, exit_code=EXIT_CONFIGURATION) from None


def _document_of(rules: "FileRules", decision: "Decision") -> dict[str, Any]:
    rule = decision.rule
    group = {"group": decision.group} if decision.group else {}
    return {
        "allowed": decision.allowed,
        "line": None if rule is None else rule.line,
        "rule": None if rule is None else rule.text,
        "file": rules.file.name,
    } | group


def _sentence_of(document: dict[str, Any]) -> str:
    verdict = "allowed" if document["allowed"] else "denied"
    if document["file"] is None:
        return f"{verdict}: {_OPEN}"
    if document["line"] is None:
        return f"{verdict}: no line of {document['file']} matches"
    whose = {
        "common": " (its group is common to users whose line names $share)",
        "own": " (its group is the user's own)",
    }
    group = whose.get(document.get("group", ""), "")
    return f"{verdict}: {document['file']}: line {document['line']}: {document['rule']}{group}"


def _is_about(rule: "Rule", user: str) -> bool:
    who = rule.who
    if user == ANONYMOUS:
        return who.user is None and who.members is None and who.named is not True
    if who.named is False or (who.user is not None and who.user != user):
        return False
    return who.members is None or user in who.members


def _table_of(document: dict[str, Any]) -> "RenderableType":
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=box.SIMPLE)
    table.add_column("line", justify="right")
    table.add_column("rule", overflow="fold")
    for each in document["rules"]:
        table.add_row(str(each["line"]), Text(each["rule"]))
    end = "everything that no line matches is denied"
    return Group(Text(document["file"], no_wrap=True, overflow="ignore"), table, Text(end))
