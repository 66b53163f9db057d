"""Clients of A2A 1.0 and of 0.3 can both find and read an agent card."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from django.utils.http import http_date

from accounts.audit import SYSTEM
from accounts.models import Agent, Team, User
from relay.cards.publishing import publish, unpublish
from relay.models import Card
from tests.fixtures.strict_client import Client

HERE = "/@garden/research-agent-01"
CARD = f"{HERE}/.well-known/agent-card.json"
URL = f"http://testserver{HERE}"
# Both specifications require these members of an "AgentCard".
REQUIRED = {
    *("name", "description", "version", "capabilities", "skills"),
    *("defaultInputModes", "defaultOutputModes"),
}
ONLY_1_0 = {"supportedInterfaces", "securityRequirements"}
ONLY_0_3 = {
    *("url", "protocolVersion", "preferredTransport", "additionalInterfaces"),
    *("security", "supportsAuthenticatedExtendedCard"),
}


def read(path: str = CARD, **headers: str) -> Any:
    return Client(headers={name.replace("_", "-"): value for name, value in headers.items()}).get(
        path
    )


def change(card: Card, **fields: Any) -> Card:
    return publish(card.agent, by=SYSTEM, at=timezone.now(), **fields)


def test_the_card_says_who_the_agent_is_and_what_it_can_do(card: Card) -> None:
    skill = {"id": "compare", "name": "Compare", "description": "Finds ten.", "tags": ["market"]}
    change(card, skills=[skill])

    answer = read()

    card_body = answer.json()
    assert answer["Content-Type"] == "application/json"
    assert card_body.keys() >= REQUIRED
    assert card_body["name"] == "@garden/research-agent-01"
    assert card_body["description"] == "Compares competitors."
    assert card_body["provider"] == {"organization": "Garden", "url": "http://testserver"}
    assert card_body["capabilities"]["streaming"] is True
    assert card_body["capabilities"]["pushNotifications"] is True
    assert card_body["defaultInputModes"] == ["text/plain", "application/json"]
    assert card_body["skills"] == [skill]


def test_clients_of_both_versions_find_the_same_address_on_it(card: Card) -> None:
    card_body = read().json()

    assert card_body["supportedInterfaces"] == [
        {"url": URL, "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
        {"url": URL, "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
    ]
    assert (card_body["url"], card_body["preferredTransport"]) == (URL, "JSONRPC")
    assert card_body["protocolVersion"] == "0.3.0"
    assert card_body["additionalInterfaces"] == [{"url": URL, "transport": "JSONRPC"}]


@pytest.mark.parametrize(
    ("development", "origin"), [(True, "https://localhost:9000"), (False, "http://127.0.0.1:8000")]
)
def test_in_development_it_uses_the_host_of_the_request(
    development: bool, origin: str, card: Card, settings: Any
) -> None:
    settings.DEVELOPMENT = development

    card_body = Client(headers={"Host": "localhost:9000"}).get(CARD, secure=True).json()

    assert card_body["url"] == card_body["supportedInterfaces"][0]["url"] == f"{origin}{HERE}"


def test_both_versions_of_the_card_require_a_key(card: Card) -> None:
    card_body = read().json()

    assert card_body["securitySchemes"]["bearer"] == {
        "type": "http",
        "scheme": "bearer",
        "httpAuthSecurityScheme": {"scheme": "bearer"},
    }
    assert card_body["security"] == [{"bearer": []}]
    assert card_body["securityRequirements"] == [{"schemes": {"bearer": {"list": []}}}]


def test_a_public_agent_asks_for_nothing(card: Card) -> None:
    change(card, access="public")

    assert not {"securitySchemes", "security", "securityRequirements"} & read().json().keys()


@pytest.mark.parametrize(
    ("profile", "absent", "present", "scheme"),
    [
        ("1.0", ONLY_0_3, ONLY_1_0, {"httpAuthSecurityScheme": {"scheme": "bearer"}}),
        ("0.3", ONLY_1_0, ONLY_0_3, {"type": "http", "scheme": "bearer"}),
    ],
)
def test_a_card_for_one_version_has_no_members_of_the_other(
    card: Card, profile: str, absent: set[str], present: set[str], scheme: dict[str, Any]
) -> None:
    change(card, profile=profile)

    card_body = read().json()

    assert card_body.keys() >= REQUIRED | present
    assert not card_body.keys() & absent
    assert card_body["securitySchemes"] == {"bearer": scheme}
    assert card_body["capabilities"] == {"streaming": True, "pushNotifications": True}
    interfaces = card_body.get("supportedInterfaces", [])
    assert {each["protocolVersion"] for each in interfaces} <= {"1.0"}


@pytest.mark.parametrize(("version", "other"), [("1.0", ONLY_0_3), ("0.3", ONLY_1_0)])
def test_a_request_for_one_version_gets_no_members_of_the_other(
    version: str, other: set[str], card: Card
) -> None:
    by_header = read(A2A_Version=version)
    by_query = read(f"{CARD}?A2A-Version={version}.7")

    assert by_header.json() == by_query.json()
    assert not by_header.json().keys() & other
    assert by_header["Vary"] == "A2A-Version"
    assert by_header["ETag"] != read()["ETag"]
    interfaces = by_header.json().get("supportedInterfaces", [])
    assert {each["protocolVersion"] for each in interfaces} <= {"1.0"}


def test_an_unsupported_version_gets_the_existing_card(card: Card) -> None:
    change(card, profile="1.0")

    assert read(A2A_Version="0.3").json() == read(A2A_Version="9.9").json() == read().json()


def test_a_card_without_a_description_has_a_general_one(card: Card) -> None:
    change(card, description="")

    card_body = read().json()

    assert card_body["description"] == "research-agent-01, an agent of Garden."
    [skill] = card_body["skills"]
    assert skill["description"] == card_body["description"]
    assert skill["tags"]


def test_a_card_names_no_people_keys_or_callers(card: Card, alice: User, caller_key: Any) -> None:
    change(card, access="allowlist", callers=[caller_key])

    body = read().content.decode()

    for hidden in (alice.email, caller_key.name, caller_key.hint, str(card.agent.pk), "allowlist"):
        assert hidden not in body


def test_a_card_is_read_from_any_site_and_kept_for_a_minute(card: Card) -> None:
    answer = read()

    assert answer["Access-Control-Allow-Origin"] == "*"
    assert answer["Cache-Control"] == "public, max-age=60"
    assert answer["Last-Modified"] == http_date(card.updated_at.timestamp())
    assert "Set-Cookie" not in answer
    assert "Cookie" not in answer.get("Vary", "")
    assert "Cross-Origin-Resource-Policy" not in answer


@pytest.mark.parametrize("path", [CARD, "/@garden/.well-known/agent-card.json"])
def test_a_page_of_another_site_may_name_a_version_of_the_card(path: str, card: Card) -> None:
    """The JavaScript SDK sends the header `A2A-Version`, so a browser first asks the server whether
    it may send this header."""
    asked = {
        "Origin": "https://elsewhere.example",
        "Access-Control-Request-Method": "GET",
        "Access-Control-Request-Headers": "a2a-version,authorization",
    }

    answer = Client().options(path, headers=asked)

    assert (answer.status_code, answer.content) == (204, b"")
    assert answer["Access-Control-Allow-Origin"] == "*"
    assert answer["Access-Control-Allow-Methods"] == "GET, HEAD"
    assert {"A2A-Version", "Authorization"} <= {*answer["Access-Control-Allow-Headers"].split(", ")}


def test_a_caller_with_the_current_card_gets_304(card: Card) -> None:
    etag = read()["ETag"]

    answer = read(**{"If-None-Match": etag})

    assert (answer.status_code, answer.content) == (304, b"")
    assert answer["Access-Control-Allow-Origin"] == "*"
    since = read(**{"If-Modified-Since": http_date(card.updated_at.timestamp())})
    assert since.status_code == 304


def test_a_changed_card_has_another_etag(card: Card, team: Team) -> None:
    etag = read()["ETag"]
    team.name = "Orchard"
    team.save(update_fields=["name"])

    answer = read(**{"If-None-Match": etag})

    assert answer.status_code == 200
    assert answer.json()["provider"]["organization"] == "Orchard"


def test_cards_are_read_only(card: Card) -> None:
    client = Client()

    head, post = client.head(CARD), client.post(CARD, {})

    assert (head.status_code, head.content) == (200, b"")
    assert head["ETag"] == read()["ETag"]
    assert post.status_code == 405


def test_the_older_name_of_the_card_leads_to_it(card: Card) -> None:
    assert read(f"{HERE}/.well-known/agent.json").json() == read().json()


def test_an_address_without_its_last_part_leads_to_the_only_agent(card: Card) -> None:
    answer = read("/@garden/.well-known/agent-card.json")

    assert (answer.status_code, answer["Location"]) == (307, CARD)
    assert answer["Access-Control-Allow-Origin"] == "*"


def test_an_address_without_its_last_part_is_a_404_for_none_or_several_agents(
    card: Card, team: Team
) -> None:
    second = Agent.objects.create(team=team, agent_id="writing-agent-02")
    publish(second, by=SYSTEM, at=timezone.now())

    assert read("/@garden/.well-known/agent-card.json").status_code == 404
    assert read("/@nobody/.well-known/agent-card.json").status_code == 404


@pytest.mark.parametrize("name", ["agent-card.json", "agent.json"])
def test_the_host_has_a_card_of_its_own_where_one_was_chosen(card: Card, name: str) -> None:
    before = read(f"/.well-known/{name}")
    change(card, is_root=True)

    after = read(f"/.well-known/{name}")

    assert before.status_code == 404
    assert after.json() == read().json()


@pytest.mark.parametrize(
    "path",
    [
        "/@garden/%00",
        "/@%00/research-agent-01",
        "/@garden/a%00b/.well-known/agent-card.json",
        "/@%00/.well-known/agent-card.json",
    ],
)
def test_an_address_with_a_null_character_is_a_404(card: Card, path: str) -> None:
    client = Client()
    answers = [
        client.get(path),
        client.get(path, headers={"Accept": "text/html"}),
        client.post(path, "{}", content_type="application/json"),
    ]

    assert [answer.status_code for answer in answers] == [404] * 3


@pytest.mark.parametrize(
    "path",
    [
        "/@garden/nobody/.well-known/agent-card.json",
        "/@other/research-agent-01/.well-known/agent-card.json",
    ],
)
def test_a_404_is_json(card: Card, path: str) -> None:
    answer = read(path)

    assert answer.status_code == 404
    assert answer.json()["error"]["code"] == "not_found"


def test_an_unpublished_agent_has_no_card(card: Card) -> None:
    change(card, is_root=True)
    unpublish(card, by=SYSTEM, at=timezone.now() + timedelta(seconds=1))

    for path in (
        *(CARD, "/@garden/.well-known/agent-card.json", "/.well-known/agent-card.json"),
        HERE,
    ):
        assert read(path, Accept="text/html").status_code == 404
