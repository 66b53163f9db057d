"""The nodes of the n8n workflow on the connect page are connected, and the workflow's requests work
unchanged."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
import pytest

from accounts.models import Agent
from tests.inbox.agents.connect.page import Copied, Page, delivered
from tests.types import Answer


def test_the_n8n_workflow_is_connected_and_its_requests_work(
    copied: Copied, answer: Answer
) -> None:
    page = copied()
    workflow = json.loads(page.texts["n8n"])
    nodes = {node["name"]: node for node in workflow["nodes"]}
    ways = [
        (node, way["node"])
        for node, outputs in workflow["connections"].items()
        for output in outputs["main"]
        for way in output
    ]

    receipt = _request(nodes["Deliver"], page).json()
    answer(receipt["delivery_id"], "rejected", feedback="No.")
    answered = _request(nodes["Read the answer"], page, receipt=receipt).json()

    assert {name for way in ways for name in way} == set(nodes)
    assert ("Still pending?", "Wait a minute") in ways
    assert (answered["status"], answered["feedback"]) == ("rejected", "No.")
    assert delivered().provider == "n8n"


@pytest.mark.parametrize("agent_id", ["=1", '={{ $env.KEY }} "\\{" \u540d'])
def test_an_agent_id_is_not_an_n8n_expression(copied: Copied, agent_id: str) -> None:
    """In n8n, a value that begins with "=" is an expression with JavaScript in braces."""
    Agent.objects.update(agent_id=agent_id)

    nodes = {node["name"]: node for node in json.loads(copied().texts["n8n"])["nodes"]}
    fields = nodes["Deliver"]["parameters"]["bodyParameters"]["parameters"]
    [value] = [field["value"] for field in fields if field["name"] == "agent_id"]

    expression = re.fullmatch(r"=\{\{ ([^{}]+) \}\}", value)
    assert expression
    assert json.loads(expression[1]) == agent_id


def _request(node: dict[str, Any], page: Page, receipt: Any = None) -> httpx.Response:
    """Makes a request as n8n does, and evaluates the only expression that the workflow has."""
    given = node["parameters"]
    assert (given["authentication"], given["genericAuthType"]) == (
        "genericCredentialType",
        "httpBearerAuth",
    )
    url = given["url"]
    if url.startswith("="):
        expression = "{{ $('Deliver').first().json.delivery_id }}"
        assert expression in url
        url = url[1:].replace(expression, receipt["delivery_id"])
    fields = given.get("bodyParameters", {}).get("parameters", [])
    assert not [field for field in fields if field["value"].startswith("=")]
    return httpx.request(
        given["method"],
        url,
        headers={"Authorization": f"Bearer {page.environment['WAKE_API_KEY']}"},
        json={field["name"]: field["value"] for field in fields} or None,
    )
