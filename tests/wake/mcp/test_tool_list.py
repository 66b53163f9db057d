"""The list of tools is written for models: it is short, and has what they need to call a tool
(docs/decisions/0079-tools-are-short.md holds its size)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.wake.mcp.client import McpClient
from wake.api.serializers import DELIVERY_PAYLOAD, OUTCOME_PAYLOAD
from wake.mcp.tools import TOOLS
from wake.models import Delivery

QUESTION = {"headline": "Which name?", "summary": "Both are free.", "wait_seconds": 0}


def schemas_in(schema: Any) -> Iterator[dict[str, Any]]:
    """Yields the schema and every schema inside."""
    yield schema
    for inner in [*schema.get("properties", {}).values(), schema.get("items")]:
        if inner:
            yield from schemas_in(inner)


@pytest.mark.parametrize("name", TOOLS)
def test_models_read_no_words_that_are_for_programmers(name: str) -> None:
    for schema in (TOOLS[name].takes, TOOLS[name].returns):
        for each in schemas_in(schema):
            words = each.get("description", "")
            assert not {"title", "$ref", "$defs", "anyOf"} & each.keys()
            assert "docs/" not in words
            assert "\n" not in words
        assert "description" not in schema


@pytest.mark.parametrize("tool", ["ask", "check"])
def test_what_a_model_acts_on_is_described(tool: str) -> None:
    members = TOOLS[tool].returns["properties"]

    assert "pending: no decision, never a yes" in members["status"]["description"]
    assert "instead of yours" in members["edited_content"]["description"]
    assert "approves nothing" in members["expired"]["description"]
    assert "claim" in members["digest"]["description"]


@pytest.mark.parametrize("tool", ["deliver", "ask"])
def test_a_limit_is_not_learned_from_an_error(tool: str) -> None:
    fields: Any = DELIVERY_PAYLOAD.get_fields()
    properties = TOOLS[tool].takes["properties"]

    for name in properties.keys() & fields.keys() - {"type", "priority"}:
        field, schema = fields[name], properties[name]
        assert schema.get("maxLength") == getattr(field, "max_length", None), name
        assert schema.get("minimum") == getattr(field, "min_value", None), name
        assert schema.get("maximum") == getattr(field, "max_value", None), name
    assert "up to 280 characters" in properties["summary"]["description"]
    assert "up to 120 characters" in properties["headline"]["description"]
    assert "256 KiB" in properties["details"]["description"]


def test_the_summary_of_a_report_has_its_limit() -> None:
    limit = OUTCOME_PAYLOAD.get_fields()["summary"].max_length  # type: ignore[attr-defined]

    assert TOOLS["report"].takes["properties"]["summary"]["maxLength"] == limit


def test_one_argument_offers_choices() -> None:
    properties = TOOLS["ask"].takes["properties"]

    assert "options" in properties
    assert "choices" not in properties
    assert '"type":"choice"' in properties["details"]["description"]
    assert "The question stays open" not in properties["timeout_seconds"]["description"]
    assert "the question stays open" in properties["timeout_seconds"]["description"]


def test_a_question_is_asked_with_ask() -> None:
    assert TOOLS["deliver"].takes["properties"]["type"]["enum"] == ["update", "output", "alert"]


@pytest.mark.django_db
def test_a_call_of_an_earlier_version_still_works(mcp: McpClient) -> None:
    choices = [{"name": "day", "label": "Which day?", "options": ["Monday", "Tuesday"]}]
    decision = {
        "timeout_seconds": 3600,
        "assumption": "Neither.",
        "quorum": 2,
        "irreversible": True,
        "idempotency_key": "k",
    }
    report = {"headline": "Two names", "summary": "Both are free."}

    asked = mcp.structured("ask", **QUESTION, choices=choices, idempotency_key="q")
    delivered = mcp.structured("deliver", type="question", **report, **decision)

    question = Delivery.objects.get(pk=asked["delivery_id"])
    assert question.details["blocks"][0]["name"] == "day"
    row = Delivery.objects.get(pk=delivered["delivery_id"])
    assert (row.type, row.timeout_seconds, row.quorum) == ("question", 3600, 2)
    assert row.irreversible


@pytest.mark.django_db
def test_an_unknown_argument_gets_the_names_of_the_known_ones(mcp: McpClient) -> None:
    failure = mcp.failure("ask", **QUESTION, choice=["A"])

    assert failure.startswith(
        "invalid_field: choice: ask takes headline, summary, details, options"
    )


@pytest.mark.django_db
def test_an_empty_list_of_answers_says_how_to_see_older_ones(mcp: McpClient) -> None:
    first = mcp.call("answers")
    later = mcp.call("answers", since="2026-11-25T10:00:00Z")

    assert first["content"][0]["text"] == "No answers yet."
    assert later["content"][0]["text"] == (
        "No answers since 2026-11-25T10:00:00Z. For older ones, call answers without since."
    )
