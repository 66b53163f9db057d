"""The fields of a delivery are one list, which deliver(), the documents, the snippets and the
client follow."""

from __future__ import annotations

import dataclasses
import inspect
import re
from pathlib import Path
from typing import Any, NotRequired, get_args, get_origin, get_type_hints

import pytest

import wake_client
from wake import wire
from wake.api.openapi import capabilities, json_schema
from wake.api.serializers import DELIVERY_PAYLOAD, EXTENSION_FIELDS
from wake.deliveries import DeliveryFields
from wake_client import AsyncWakeClient, WakeClient
from wake_client.http.flows import OptionalFields

FROM_THE_CONSTRUCTOR = ["agent_id", "provider"]
FIELDS = DELIVERY_PAYLOAD.get_fields()
HOUSE = Path(__file__).parents[2]
SNIPPETS = sorted((HOUSE / "templates/inbox/agents/connect/snippets").glob("*.txt"))
REQUIRED = [name for name, field in FIELDS.items() if field.required]


def test_the_verb_has_the_same_fields_in_the_same_order() -> None:
    fields = ["details_json" if name == "details" else name for name in FIELDS]

    assert list(DeliveryFields.__annotations__) == [*fields, "extensions"]
    hints = get_type_hints(DeliveryFields, include_extras=True)
    assert [name for name, hint in hints.items() if get_origin(hint) is not NotRequired] == REQUIRED


def test_the_documents_have_the_same_fields() -> None:
    schema = json_schema()["$defs"]["delivery"]

    assert list(schema["properties"]) == list(FIELDS)
    assert sorted(schema["required"]) == sorted(REQUIRED)
    assert set(EXTENSION_FIELDS) <= set(capabilities()["extensions"])


def test_the_table_in_the_protocol_has_the_same_fields() -> None:
    text = (HOUSE / "docs/protocol.md").read_text()
    table = text.partition("### Fields\n")[2].partition("\n### ")[0]
    rows = re.findall(r"^\| (`[^|]*) \| ([a-z]*) ?\|", table, re.MULTILINE)
    kinds = {name: kind for names, kind in rows for name in re.findall(r"`(\w+)`", names)}

    assert list(kinds) == list(FIELDS)
    assert [name for name, kind in kinds.items() if kind == "required"] == REQUIRED
    assert [name for name, kind in kinds.items() if kind == "extension"] == EXTENSION_FIELDS


@pytest.mark.parametrize("name", ["curl", "node", "python"])
def test_a_snippet_that_posts_sends_every_required_field(name: str) -> None:
    (snippet,) = (path.read_text() for path in SNIPPETS if path.stem == name)

    assert [field for field in REQUIRED if field not in snippet] == []


@pytest.mark.parametrize("client", [WakeClient, AsyncWakeClient])
def test_a_delivery_has_the_servers_fields_in_its_order(client: type) -> None:
    deliver = inspect.signature(client.deliver)  # type: ignore[attr-defined]
    required = [
        name
        for name, parameter in deliver.parameters.items()
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD and name != "self"
    ]
    optional = list(OptionalFields.__annotations__)

    fields = FIELDS
    assert FROM_THE_CONSTRUCTOR + required == [
        name for name, field in fields.items() if field.required
    ]
    assert optional == [name for name, field in fields.items() if not field.required]


def test_the_choices_are_the_servers() -> None:
    hints = get_type_hints(OptionalFields) | get_type_hints(WakeClient.deliver)
    choices = {
        name: list(field.choices) for name, field in FIELDS.items() if hasattr(field, "choices")
    }

    assert {name: literals(hints[name]) for name in choices} == choices


def literals(hint: Any) -> list[str]:
    """Returns the texts of a Literal, even if it may also be None."""
    texts = []
    for argument in get_args(hint):
        texts += [argument] if isinstance(argument, str) else literals(argument)
    return texts


@pytest.mark.parametrize("name", ["Answer", "Blob", "Receipt", "Sweep"])
def test_a_response_has_the_servers_fields(name: str) -> None:
    ours = {field.name for field in dataclasses.fields(getattr(wake_client, name))}
    servers = set(getattr(wire, name).__struct_fields__)

    # A receipt's status is always "received"; `replayed` is a header.
    renamed = {"replayed": "status", "answers": "deliveries"}
    assert {renamed.get(field, field) for field in ours} == servers
