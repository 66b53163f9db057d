"""A question is a card inside clients that declare the extension io.modelcontextprotocol/ui (MCP
Apps, 2026-01-26). For all other clients nothing changes.

The quoted sentences are the extension's.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.test import RequestFactory
from django.urls import reverse

from accounts.agents import keys
from accounts.audit import SYSTEM
from accounts.models import Agent, ApiKey, User
from tests.wake.mcp.client import HANDSHAKE, STATELESS, McpClient
from tests.wake.mcp.test_tools import QUESTION, answer
from wake.mcp import protocol
from wake.mcp.cards import resources
from wake.mcp.cards.clients import EXTENSION, MIME_TYPE, SESSION_HEADER
from wake.mcp.tools import TOOLS
from wake.mcp.views import McpView

pytestmark = pytest.mark.django_db
# The answers of version 0.2 and of 0.3 before there were cards. A change of the list of tools
# changes this file, too: then check that nothing else is different.
RECORDED: dict[str, Any] = json.loads((Path(__file__).parent / "recorded/answers.json").read_text())
NAME_OF_CARD = "wake/card"
ASK = {**QUESTION, "wait_seconds": 0}


@pytest.fixture(params=[STATELESS, HANDSHAKE])
def cards(key: ApiKey, request: Any) -> McpClient:
    """Returns a client of each era that shows cards."""
    client = McpClient(key.text, version=request.param, takes_cards=True)  # type: ignore[attr-defined]
    if request.param == HANDSHAKE:
        client.initialize()
    return client


def without_meta(result: Any) -> Any:
    return {
        **result,
        "tools": [{k: v for k, v in t.items() if k != "_meta"} for t in result["tools"]],
    }


@pytest.mark.parametrize("recorded", RECORDED)
def test_a_client_without_cards_gets_the_same_bytes_as_before(recorded: str, key: ApiKey) -> None:
    version, method = recorded.split()
    client = McpClient(key.text, version=version)  # type: ignore[attr-defined]
    params = {
        "initialize": {"protocolVersion": version, "capabilities": {}},
        "resources/read": {"uri": resources.URI},
    }

    response = client.ask(method, params.get(method))

    status, headers, body = RECORDED[recorded]
    assert response.content.decode() == body
    assert response.status_code == status
    assert [name for name in response.headers if name.lower().startswith("mcp")] == headers


@pytest.mark.parametrize(
    "capabilities",
    [
        {},
        {"extensions": None},
        {"extensions": {EXTENSION: None}},
        {"extensions": {EXTENSION: {}}},
        {"extensions": {EXTENSION: {"mimeTypes": MIME_TYPE}}},
        {"extensions": {EXTENSION: {"mimeTypes": ["text/html"]}}},
        {"extensions": {protocol.TASKS: {}}},
        {"extensions": [EXTENSION]},
    ],
)
def test_a_client_that_cannot_show_the_card_gets_none(capabilities: Any, either: McpClient) -> None:
    either.capabilities = capabilities
    if either.version == HANDSHAKE:
        assert SESSION_HEADER not in either.initialize()

    assert not any("_meta" in tool for tool in either.result("tools/list")["tools"])
    result = either.call("ask", **ASK)
    assert NAME_OF_CARD not in result.get("_meta", {})
    refused = either.ask("resources/read", {"uri": resources.URI})
    assert refused.json()["error"]["code"] == protocol.METHOD_NOT_FOUND


def test_the_list_of_tools_names_the_card_and_changes_nothing_else(
    cards: McpClient, key: ApiKey
) -> None:
    plain = McpClient(key.text, version=cards.version)  # type: ignore[attr-defined]

    listed = cards.result("tools/list")

    assert without_meta(listed) == plain.result("tools/list")
    ui = {tool["name"]: tool["_meta"]["ui"] for tool in listed["tools"]}
    assert [name for name in TOOLS if "resourceUri" in ui[name]] == ["ask", "check"]
    assert ui["ask"]["resourceUri"] == resources.URI
    # "Host MUST reject `tools/call` requests from apps for tools that don't include `"app"`"
    assert all(each["visibility"] == ["model"] for each in ui.values())


def test_capabilities_name_the_extension(key: ApiKey) -> None:
    newest = McpClient(key.text, takes_cards=True)  # type: ignore[attr-defined]
    older = McpClient(key.text, version=HANDSHAKE, takes_cards=True)  # type: ignore[attr-defined]

    discovered = newest.result("server/discover")["capabilities"]
    initialized = older.initialize().json()["result"]["capabilities"]

    assert discovered["resources"] == initialized["resources"] == {"listChanged": False}
    assert discovered["extensions"] == {protocol.TASKS: {}, EXTENSION: {}}
    assert initialized["extensions"] == {EXTENSION: {}}


def test_the_id_of_a_session_says_that_the_client_shows_cards(key: ApiKey) -> None:
    one = McpClient(key.text, version=HANDSHAKE, takes_cards=True)  # type: ignore[attr-defined]
    two = McpClient(key.text, version=HANDSHAKE, takes_cards=True)  # type: ignore[attr-defined]

    ids = {client.initialize()[SESSION_HEADER] for client in (one, two)}

    # "The session ID SHOULD be globally unique", "MUST only contain visible ASCII characters"
    assert len(ids) == 2
    assert all(re.fullmatch(r"[!-~]+", each) for each in ids)
    one.session = {SESSION_HEADER: "1868a90c"}
    assert one.ask("resources/list").json()["error"]["code"] == protocol.METHOD_NOT_FOUND
    assert SESSION_HEADER not in two.ask("tools/list")


def test_the_card_is_a_resource(cards: McpClient) -> None:
    (listed,) = cards.result("resources/list")["resources"]
    (content,) = cards.result("resources/read", {"uri": listed["uri"]})["contents"]

    assert cards.result("resources/templates/list")["resourceTemplates"] == []
    assert listed["uri"].startswith("ui://")
    assert (content["uri"], content["mimeType"]) == (listed["uri"], MIME_TYPE)
    assert content["text"].startswith("<!doctype html>")
    # The extension reads an empty list as: no external connections.
    assert content["_meta"]["ui"]["csp"] == {"connectDomains": [], "resourceDomains": []}


def test_the_card_may_be_cached(key: ApiKey) -> None:
    newest = McpClient(key.text, takes_cards=True)  # type: ignore[attr-defined]

    for method in resources.METHODS:
        result = newest.result(method, {"uri": resources.URI})
        assert (result["ttlMs"], result["cacheScope"]) == (protocol.CACHE_MS, "private")
        assert result["resultType"] == "complete"


@pytest.mark.parametrize("uri", [None, 7, "", "ui://wake/other", "file:///etc/passwd", "é"])
def test_there_is_no_other_resource(uri: Any, cards: McpClient) -> None:
    headers = {"Mcp-Name": "=?base64?w6k=?="} if uri == "é" else {}
    refused = cards.ask("resources/read", {"uri": uri} if uri is not None else {}, **headers)

    code = refused.json()["error"]["code"]
    assert code in {protocol.INVALID_PARAMS, protocol.HEADER_MISMATCH}
    assert refused.status_code == (200 if cards.version == HANDSHAKE else 400)


def test_the_header_repeats_the_name_of_the_resource(key: ApiKey) -> None:
    newest = McpClient(key.text, takes_cards=True)  # type: ignore[attr-defined]

    refused = newest.ask("resources/read", {"uri": resources.URI}, **{"Mcp-Name": "ui://other"})

    assert refused.json()["error"]["code"] == protocol.HEADER_MISMATCH


def test_a_result_has_what_the_card_shows_beside_what_the_model_reads(
    cards: McpClient, key: ApiKey, settings: Any
) -> None:
    plain = McpClient(key.text, version=cards.version)  # type: ignore[attr-defined]
    more = {"timeout_seconds": 3600, "assumption": "I take A."}

    result = cards.call("ask", **{**ASK, **more})
    again = plain.call("ask", **{**ASK, **more})

    card = result["_meta"][NAME_OF_CARD]
    delivery_id = result["structuredContent"]["delivery_id"]
    page = reverse("delivery", args=[delivery_id])
    assert card["headline"] == "Which name?"
    assert (card["assumption"], card["on_timeout"]) == ("I take A.", "")
    assert card["url"] == f"{settings.WAKE_ORIGIN}{page}"
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z", card["as_of"])
    assert result["structuredContent"] == again["structuredContent"]
    assert page not in json.dumps(result["content"])
    assert (f"{protocol.META}serverInfo" in result["_meta"]) == (cards.version == STATELESS)


def test_a_check_shows_the_answer(cards: McpClient, bob: User) -> None:
    delivery_id = cards.structured("ask", **ASK)["delivery_id"]
    answer(delivery_id, bob, "rejected", feedback="Neither.")

    result = cards.call("check", delivery_id=delivery_id)

    assert result["structuredContent"]["feedback"] == "Neither."
    assert result["_meta"][NAME_OF_CARD]["headline"] == "Which name?"


def test_other_tools_and_errors_have_no_card(cards: McpClient) -> None:
    delivery_id = cards.structured("ask", **ASK)["delivery_id"]

    withdrawn = cards.call("withdraw", delivery_id=delivery_id)
    failed = cards.call("check", delivery_id="nothing")

    assert NAME_OF_CARD not in withdrawn.get("_meta", {})
    assert failed["isError"]
    assert NAME_OF_CARD not in failed.get("_meta", {})


def test_the_card_of_another_agent_is_not_there(cards: McpClient, agent: Agent) -> None:
    delivery_id = cards.structured("ask", **ASK)["delivery_id"]
    other = Agent.objects.create(team=agent.team, agent_id="other-agent")
    _, cards.key = keys.mint(other, by=SYSTEM)

    failed = cards.call("check", delivery_id=delivery_id)

    assert failed["content"][0]["text"].startswith("not_found")
    assert "Which name?" not in json.dumps(failed)


def test_hidden_characters_are_visible_in_the_card(cards: McpClient) -> None:
    result = cards.call("ask", **{**ASK, "headline": "Pay \u202e0001 EUR"})

    assert "\u202e" not in json.dumps(result["_meta"][NAME_OF_CARD], ensure_ascii=False)


def test_the_result_of_a_task_has_its_card(key: ApiKey, bob: User) -> None:
    client = McpClient(key.text, takes_tasks=True, takes_cards=True)  # type: ignore[attr-defined]
    plain = McpClient(key.text, takes_tasks=True)  # type: ignore[attr-defined]
    task_id = client.call("ask", **QUESTION)["taskId"]
    answer(task_id, bob, "approved")

    with_card = client.result("tasks/get", {"taskId": task_id})["result"]
    without = plain.result("tasks/get", {"taskId": task_id})["result"]

    assert with_card["_meta"][NAME_OF_CARD]["headline"] == "Which name?"
    assert {**without, "_meta": with_card["_meta"]} == with_card


def test_an_edge_can_show_cards_to_every_client(key: ApiKey) -> None:
    class WithCards(McpView):
        shows_cards = True

    def ask(method: str, **params: Any) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        request = RequestFactory().post(
            "/mcp",
            body,
            content_type="application/json",
            headers={"Authorization": f"Bearer {key.text}"},  # type: ignore[attr-defined]
        )
        return WithCards.as_view()(request)

    initialized = ask("initialize", protocolVersion=HANDSHAKE, capabilities={})
    read = json.loads(ask("resources/read", uri=resources.URI).content)

    assert SESSION_HEADER not in initialized
    assert EXTENSION in json.loads(initialized.content)["result"]["capabilities"]["extensions"]
    assert read["result"]["contents"][0]["mimeType"] == MIME_TYPE


def test_the_page_loads_nothing_and_writes_no_markup() -> None:
    page = resources.PAGE

    assert not re.search(r"\b(?:src|srcset|action|formaction)=|url\(|@import|\bimport\b", page)
    assert not re.search(r"https?://", page)
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|Function\(|javascript:",
        page,
    )
    assert not re.search(r"\bon[a-z]+=", page)
    assert "tools/call" not in page
