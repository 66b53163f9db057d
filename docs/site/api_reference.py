"""Writes the page of the API reference from the server's OpenAPI 3.1 document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

Json = dict[str, Any]

INTRODUCTION = """\
# API reference

Every endpoint of WAKE v1, made from the OpenAPI document of this version. The
[protocol](protocol.md) explains what the fields mean and when to use them. A running server has the
same document at `GET /wake/v1/openapi.json`, with its own limits.

A request needs the header `Authorization: Bearer KEY`, except where a section says otherwise.
Bodies are JSON in UTF-8. Every error has the same shape, an [ErrorBody](#errorbody).
"""
# The generator of the document writes such a line for each value of an enumeration.
OF_ENUMERATION = re.compile(r"^\* `[^`]*` - .*\n?", re.MULTILINE)
LIMITS = {
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "default": "default `{}`",
}


def page(document: Json) -> str:
    """Returns the page as Markdown."""
    operations = [
        _operation(f"{method.upper()} {path}", operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    ]
    schemas = [
        _schema(name, schema) for name, schema in sorted(document["components"]["schemas"].items())
    ]
    return "\n".join([INTRODUCTION, *operations, "## Schemas\n", *schemas])


def _operation(title: str, operation: Json) -> str:
    lines = [f"## `{title}`", "", operation["description"], ""]
    if not operation.get("security"):
        lines += ["This request needs no key.", ""]
    if parameters := operation.get("parameters"):
        lines += ["| Parameter | In | Type | |", "|---|---|---|---|"]
        lines += [
            f"| `{one['name']}`{' (required)' if one.get('required') else ''} | {one['in']} "
            f"| {_type(one['schema'])} | {_words(one, one['schema'])} |"
            for one in parameters
        ]
        lines += [""]
    for media, body in operation.get("requestBody", {}).get("content", {}).items():
        lines += [f"Body: {_type(body['schema'])}, as `{media}`.", ""]
    return "\n".join([*lines, *_responses(operation["responses"]), ""])


def _responses(responses: Json) -> Iterator[str]:
    yield "| Status | Body | Headers |"
    yield "|---|---|---|"
    for code, response in sorted(responses.items()):
        status = HTTPStatus(int(code))
        bodies = [_type(one["schema"]) for one in response.get("content", {}).values()]
        headers = [f"`{name}`" for name in response.get("headers", {})]
        body = " or ".join(dict.fromkeys(bodies))
        yield f"| {code} {status.phrase} | {body} | {', '.join(headers)} |"


def _schema(name: str, schema: Json) -> str:
    lines = [f"### {name}", ""]
    if description := OF_ENUMERATION.sub("", schema.get("description", "")).strip():
        lines += [" ".join(description.partition("\n\n")[0].split()), ""]
    required = set(schema.get("required", ()))
    if properties := schema.get("properties"):
        lines += ["| Field | Type | |", "|---|---|---|"]
        lines += [
            f"| `{field}`{' (required)' if field in required else ''} "
            f"| {_type(value)} | {_words(value, value)} |"
            for field, value in properties.items()
        ]
    else:
        lines += [f"Type: {_type(schema)}."]
    return "\n".join([*lines, ""])


def _type(schema: Json) -> str:
    """Returns the type in a few words, with a link for each schema that has a name."""
    if reference := schema.get("$ref"):
        name = reference.rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return " or ".join(dict.fromkeys(map(_type, schema[key])))
    if "enum" in schema:
        return ", ".join(f"`{_literal(value)}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{_literal(schema['const'])}`"
    kinds = schema.get("type", "any")
    words = [_kind(kind, schema) for kind in ([kinds] if isinstance(kinds, str) else kinds)]
    return " or ".join(words)


def _kind(kind: str, schema: Json) -> str:
    if kind == "array" and "items" in schema:
        return f"array of {_type(schema['items'])}"
    if kind == "string" and "format" in schema:
        return f"string ({schema['format']})"
    return kind


def _literal(value: Any) -> str:
    return "null" if value is None else str(value)


def _words(described: Json, schema: Json) -> str:
    """Returns the description and the limits, as the text of a cell."""
    description = OF_ENUMERATION.sub("", described.get("description", "")).strip()
    limits = [words.format(schema[key]) for key, words in LIMITS.items() if key in schema]
    sentences = [" ".join(description.split()), ", ".join(limits).capitalize()]
    return " ".join(f"{one.rstrip('.')}." for one in sentences if one).replace("|", "\\|")
