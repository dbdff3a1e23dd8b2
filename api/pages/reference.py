"""The reference of the REST interface at ``/docs``, rendered from its OpenAPI description.

The page always agrees with ``/openapi.json``. It needs no JavaScript, no files from other sites,
and no exemption from the content security policy. FastAPI's Swagger UI would load 1.5 MB of script
from another site. If a GET endpoint has no required parameters, the page contains a link to it.
"""

from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import JSONResponse, Response

from api.login.admission import VIEWERS
from api.pages.page import rendered

reference = APIRouter(include_in_schema=False, dependencies=[Depends(VIEWERS)])


@dataclass(frozen=True, kw_only=True)
class Parameter:
    name: str
    place: str
    required: bool
    type: str
    description: str


@dataclass(frozen=True, kw_only=True)
class Endpoint:
    method: str
    path: str
    summary: str
    description: str
    parameters: tuple[Parameter, ...]
    answers: tuple[tuple[str, str, str], ...]
    """Status code, description and schema name of each response."""
    body: str | None
    """Name of the schema of the request body, or None if there is no body."""

    @property
    def can_be_tried(self) -> bool:
        return self.method == "GET" and not any(parameter.required for parameter in self.parameters)


@dataclass(frozen=True)
class SchemaField:
    """A field of a schema, or a value of an enumeration."""

    name: str
    type: str
    schema: str | None
    description: str


@reference.get("/docs")
async def docs(request: Request) -> Response:
    """Show the reference of the REST interface to people. Programs read /openapi.json."""
    description: dict[str, Any] = request.app.openapi()
    return rendered(
        request,
        "reference.html",
        info=description["info"],
        wants_tokens="securitySchemes" in description["components"],
        endpoints=endpoints_of(description),
        schemas=schemas_of(description),
    )


@reference.get("/openapi.json")
async def openapi(request: Request) -> JSONResponse:
    """Return the OpenAPI description for programs."""
    return JSONResponse(request.app.openapi())


def endpoints_of(description: dict[str, Any]) -> list[Endpoint]:
    """Return the endpoints in an OpenAPI description."""
    schemas = description["components"]["schemas"]
    return [
        Endpoint(
            method=method.upper(),
            path=path,
            summary=operation["summary"],
            description=operation.get("description", ""),
            parameters=tuple(
                _parameter_of(each, schemas) for each in operation.get("parameters", ())
            ),
            answers=tuple(
                (code, answer["description"], _schema_name_of(answer))
                for code, answer in sorted(operation["responses"].items())
            ),
            body=_schema_name_of(operation.get("requestBody", {})) or None,
        )
        for path, operations in description["paths"].items()
        for method, operation in operations.items()
    ]


def schemas_of(description: dict[str, Any]) -> dict[str, list[SchemaField]]:
    """Return the fields of each schema in an OpenAPI description, keyed by the schema's name.

    If a schema is an enumeration, its accepted values are returned instead of fields.
    """
    return {
        title: [
            *(_field_of(name, field) for name, field in schema.get("properties", {}).items()),
            *(SchemaField(str(value), "value", None, "") for value in schema.get("enum", ())),
        ]
        for title, schema in sorted(description["components"]["schemas"].items())
    }


def _parameter_of(parameter: dict[str, Any], schemas: dict[str, Any]) -> Parameter:
    """Return a description of a parameter.

    If the parameter is an enumeration, its type is described by the list of values.
    """
    schema = parameter["schema"]
    values = schemas.get(_reference_of(schema) or "", {}).get("enum", ())
    return Parameter(
        name=parameter["name"],
        place=parameter["in"],
        required=parameter.get("required", False),
        type=" or ".join(map(str, values)) if values else _type_of(schema),
        description=parameter.get("description", ""),
    )


def _field_of(name: str, schema: dict[str, Any]) -> SchemaField:
    return SchemaField(
        name=name,
        type=_type_of(schema),
        schema=_reference_of(schema),
        description=schema.get("description", ""),
    )


def _schema_name_of(answer: dict[str, Any]) -> str:
    for content in answer.get("content", {}).values():
        return _reference_of(content.get("schema", {})) or ""
    return ""


def _reference_of(schema: dict[str, Any]) -> str | None:
    """Return the name of the schema to which `schema` refers, or None if there is no reference.

    The reference can be in the schema itself, in its `items`, or in one of its alternatives.
    """
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    inner = [schema["items"]] if "items" in schema else list(schema.get("anyOf", ()))
    return next((name for name in map(_reference_of, inner) if name is not None), None)


def _type_of(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(_type_of(one) for one in schema["anyOf"])
    if schema.get("type") == "array":
        return f"list of {_type_of(schema['items'])}"
    if isinstance(schema.get("additionalProperties"), dict):
        return f"object of {_type_of(schema['additionalProperties'])}"
    if "const" in schema:
        return f'"{schema["const"]}"'
    return str(schema.get("type", "any"))
