"""The page with every endpoint of the REST interface and its schemas: `make docs` writes it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from api.main import create_app
from api.pages.reference import Endpoint, SchemaField, endpoints_of, schemas_of
from api.settings import ApiSettings

PAGE: Final = Path(__file__).resolve().parent / "rest.md"
INTRODUCTION: Final = """# REST interface

The endpoints of the page's REST interface, from its OpenAPI description. A gateway shows the same
at `/docs`, and for programs at `/openapi.json`. `make docs` writes this page.

A program sends a token, `Authorization: Bearer TOKEN`; `oncegate api-token add NAME` creates one:
[programs](configuration.md#programs). GET only reads. Responses are JSON, and errors are
[problem details](#problemdetail) (RFC 9457), with the fix in `mend`.

```sh
curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:8080/api/v1/status
```

| Status | Meaning |
|---|---|
| 400, 422 | The request is invalid; the problem names the parameter or field. |
| 401 | The token is missing or invalid. |
| 403 | The role of the token, or an access rule, does not allow the request. |
| 404 | What the request names does not exist. |
| 409 | The current state does not allow the change. |
| 408, 413, 415 | The body arrived too slowly, is too large, or is not JSON. |
| 502, 503 | Another process gave an invalid response, or does not respond. |

## Endpoints
"""


def rest_page() -> str:
    """Return the page with a section for each endpoint, and a table for each schema."""
    description = create_app(ApiSettings(status_socket=Path("status.sock"))).openapi()
    lines = [INTRODUCTION]
    for endpoint in endpoints_of(description):
        lines += _endpoint_lines(endpoint)
    lines.append("## Schemas\n")
    for name, fields in schemas_of(description).items():
        lines += _schema_lines(name, fields)
    return "\n".join(lines)


def _endpoint_lines(endpoint: Endpoint) -> Iterator[str]:
    """Yield the lines of an endpoint: what it does, parameters, request body, responses."""
    yield f"### {endpoint.method} {endpoint.path}\n"
    yield f"**{endpoint.summary}.**\n"
    if endpoint.description:
        yield f"{endpoint.description}\n"
    rows = [
        (
            f"`{each.name}`",
            f"{each.place}{', required' if each.required and each.place != 'path' else ''}",
            each.type,
            each.description,
        )
        for each in endpoint.parameters
    ]
    if rows:
        yield from _table(("Parameter", "In", "Type", "Meaning"), rows)
    if endpoint.body:
        yield f"Request body: JSON, {_link(endpoint.body)}.\n"
    yield "\n".join(_response_lines(endpoint)) + "\n"


def _response_lines(endpoint: Endpoint) -> Iterator[str]:
    """Yield a line for each response with a body of its own, then one for all problem details."""
    problems = []
    for code, meaning, schema in endpoint.answers:
        if schema == "ProblemDetail":
            problems.append(code)
        else:
            yield f"- {code}: {_link(schema) if schema else meaning}"
    if problems:
        yield f"- {', '.join(problems)}: {_link('ProblemDetail')}"


def _schema_lines(name: str, fields: Sequence[SchemaField]) -> Iterator[str]:
    """Yield the lines of a schema: its name, and a table of its fields."""
    yield f"### {name}\n"
    if not fields:
        yield "An empty object, `{}`.\n"
        return
    yield from _table(
        ("Field", "Type", "Meaning"),
        [
            (
                f"`{field.name}`",
                _link(field.schema, field.type) if field.schema else field.type,
                field.description,
            )
            for field in fields
        ],
    )


def _link(schema: str, text: str | None = None) -> str:
    """Return a link to a schema's section on the page."""
    return f"[{text or schema}](#{schema.lower()})"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield a table in Markdown, and the empty line after it."""
    yield f"| {' | '.join(head)} |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield f"| {' | '.join(_cell(each) for each in row)} |"
    yield ""


def _cell(text: Any) -> str:
    """Return text for a table cell: one line, without bars that end a cell."""
    return " ".join(str(text).split()).replace("|", r"\|")
