"""Generates the manual pages and the bash completion script of `oncegate` from its help text::

    python3 image/deb/manual.py SHARE

This creates SHARE/man/man1/oncegate*.1.gz, one page for each subcommand, and
SHARE/bash-completion/completions/oncegate. The output is reproducible.
"""

import gzip
import inspect
import re
import sys
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from typer.main import get_command

from gateway.cli.application import PROGRAM, application_of, completion_script
from gateway.cli.common.failures import EXIT_CODES_TEXT


def main(share: Path) -> None:
    """Write the manual pages and the bash completion script below the folder `share`."""
    heading = f'"" "Oncegate {version("oncegate")}" "Oncegate"'
    manual = share / "man" / "man1"
    manual.mkdir(parents=True)
    for path, command in commands_of(get_command(application_of()), (PROGRAM,)):
        page = page_of(path, command, heading)
        packed = gzip.compress(page.encode(), compresslevel=9, mtime=0)
        (manual / f"{'-'.join(path)}.1.gz").write_bytes(packed)
    completions = share / "bash-completion" / "completions"
    completions.mkdir(parents=True)
    (completions / PROGRAM).write_text(f"{completion_script('bash')}\n")


def commands_of(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield a command and all its subcommands.

    Each is yielded with its full name as a tuple of words, such as (`users`, `add`).
    """
    yield path, command
    for name, below in getattr(command, "commands", {}).items():
        yield from commands_of(below, (*path, name))


def page_of(path: tuple[str, ...], command: Any, heading: str) -> str:
    """Return the manual page of a command, written with the macros of man(7)."""
    summary, *paragraphs = re.split(r"\n\s*\n", inspect.cleandoc(command.help or ""))
    name, lines = "-".join(path), []
    lines += [f".TH {name.upper()} 1 {heading}", ".SH NAME"]
    lines += [f"{escaped(name)} \\- {escaped(joined(summary).rstrip('.'))}"]
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    words = [*path, "[OPTIONS]", *(metavar_of(each) for each in arguments)]
    words += ["COMMAND [ARGS]..."] if hasattr(command, "commands") else []
    lines += [".SH SYNOPSIS", f".B {escaped(' '.join(words))}"]
    described, examples = split(paragraphs)
    if described:
        lines += [".SH DESCRIPTION", *paragraphs_of(described)]
    below = getattr(command, "commands", {})
    if below:
        lines += [".SH COMMANDS"]
        for name, each in below.items():
            page = "-".join((*path, name))
            first = re.split(r"\n\s*\n", inspect.cleandoc(each.help or ""))[0]
            lines += [".TP", f".BR {escaped(page)} (1)", text_line(joined(first))]
    lines += [".SH OPTIONS", *options_of(command)]
    if examples:
        lines += [".SH EXAMPLES", *(line for each in examples for line in example_of(each))]
    lines += [".SH EXIT STATUS", text_line(EXIT_CODES_TEXT.removeprefix("Exit codes: "))]
    if len(path) > 1:
        lines += [".SH SEE ALSO", f".BR {escaped('-'.join(path[:-1]))} (1)"]
    return "\n".join(lines) + "\n"


def split(paragraphs: list[str]) -> tuple[list[str], list[str]]:
    """Split the paragraphs of a help text into the description and the examples after it."""
    for at, paragraph in enumerate(paragraphs):
        if paragraph in ("Example:", "Examples:"):
            return paragraphs[:at], paragraphs[at + 1 :]
    return paragraphs, []


def paragraphs_of(paragraphs: list[str]) -> Iterator[str]:
    for paragraph in paragraphs:
        yield from (".PP", text_line(joined(paragraph)))


def example_of(paragraph: str) -> tuple[str, ...]:
    return ".PP", ".RS 4", ".nf", text_line(joined(paragraph)), ".fi", ".RE"


def options_of(command: Any) -> Iterator[str]:
    for each in command.params:
        if getattr(each, "hidden", False):
            continue
        if each.param_type_name == "argument":
            names = metavar_of(each)
        else:
            names = ", ".join((*each.opts, *each.secondary_opts))
            names += "" if each.is_flag else f" {metavar_of(each)}"
        yield from (".TP", f".B {escaped(names)}", text_line(help_of(each)))
    yield from (".TP", f".B {escaped('-h, --help')}", "Show the help and end.")


def metavar_of(parameter: Any) -> str:
    metavar: str = parameter.metavar or parameter.name.upper().replace("_", "-")
    return metavar


def help_of(parameter: Any) -> str:
    text = joined(parameter.help or "")
    has_default = isinstance(parameter.default, int | float | str) and parameter.default not in (
        False,
        "",
    )
    return f"{text} Default: {parameter.default}." if has_default else text or "-"


def joined(text: str) -> str:
    return " ".join(text.split())


def text_line(text: str) -> str:
    """Escape a line of text, so that roff does not interpret it as a request (a roff command)."""
    line = escaped(text)
    return f"\\&{line}" if line[:1] in (".", "'") else line


def escaped(text: str) -> str:
    """Escape a text for roff. A hyphen remains a plain hyphen, so that commands can be copied."""
    return text.replace("\\", "\\e").replace("-", "\\-").replace("`", "\\(ga")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
