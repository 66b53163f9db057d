"""An agent delivers, a person answers in a browser, and the agent receives the answer."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from accounts.models import ApiKey, User
from tests.browser.screen import Open
from tests.fixtures.people import PASSWORD
from tests.types import Age

BRIEF = {"title": "Market report", "audience": "the board", "sections": ["Findings", "Prices"]}


class Agent:
    """Calls the server as an agent does."""

    def __init__(self, origin: str, key: ApiKey) -> None:
        text: str = key.text  # type: ignore[attr-defined]
        self.agent_id = key.agent.agent_id
        self.http = httpx.Client(
            base_url=origin, headers={"Authorization": f"Bearer {text}"}, trust_env=False
        )

    def deliver(self, **fields: Any) -> str:
        payload = {
            "agent_id": self.agent_id,
            "provider": "claude",
            "type": "output",
            "headline": "Market report ready for your review",
            "summary": "Analysed the ten largest competitors.",
            **fields,
        }
        answer = self.http.post("/wake/v1/deliver", json=payload)
        assert answer.status_code == 201, answer.text
        return str(answer.json()["delivery_id"])

    def poll(self, delivery_id: str) -> dict[str, Any]:
        answer: dict[str, Any] = self.http.get(f"/wake/v1/response/{delivery_id}").json()
        return answer


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_an_edited_document_reaches_the_agent(
    open_browser: Open,
    live_server: Any,
    key: ApiKey,
    alice: User,
    age: Age,
    scripts: bool,
) -> None:
    agent = Agent(live_server.url, key)
    delivery_id = agent.deliver(details=BRIEF)
    screen = open_browser(scripts=scripts)

    page = screen.go("/")
    page.get_by_label("E-mail").fill(alice.email)
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    screen.press("Sign in")
    assert page.get_by_role("heading", level=1).inner_text().startswith("One delivery needs you")
    screen.follow("Market report ready for your review")
    assert "the board" in page.inner_text(".untrusted")
    page.get_by_label("Message to the agent").fill("Good start: cut the prices.")
    screen.more("Edit and send back")
    assert page.get_by_label("Message to the agent").input_value() == "Good start: cut the prices."

    page.get_by_label("The agent's JSON").fill('{"title": "Market report", "sections": [}')
    screen.press("Send changes")
    assert "Not valid JSON" in page.inner_text(".errors")
    assert agent.poll(delivery_id)["status"] == "pending"

    edited = {**BRIEF, "sections": ["Findings"]}
    page.get_by_label("The agent's JSON").fill(json.dumps(edited, indent=2))
    if not scripts:
        screen.press("Preview changes")
    page.wait_for_selector(".diff__line--removed >> nth=1")
    assert '"Prices"' in page.inner_text(".diff__line--removed >> nth=1")
    screen.press("Send changes")
    assert "Goes to the agent in" in page.inner_text(".notice")
    assert agent.poll(delivery_id)["status"] == "pending"

    age(delivery_id, seconds=11)
    polled = agent.poll(delivery_id)
    assert polled["status"] == "redirected"
    assert polled["edited_content"] == edited
    assert polled["feedback"] == "Good start: cut the prices."
    page.reload()
    assert "Fetched by the agent" in page.inner_text(".notice")
    assert page.get_by_role("button", name="Undo").count() == 0


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_a_delivery_is_approved_from_its_row_and_undone(
    open_browser: Open, live_server: Any, key: ApiKey, alice: User, scripts: bool
) -> None:
    Agent(live_server.url, key).deliver()
    screen = open_browser(alice, scripts=scripts)
    page = screen.go("/")

    screen.press("Approve: Market report ready for your review")
    assert page.get_by_role("heading", level=1).inner_text() == "You're all caught up"
    screen.press("Undo: Market report ready for your review")

    assert page.get_by_role("heading", level=1).inner_text().startswith("One delivery needs you")


@pytest.mark.parametrize("scripts", [True, False], ids=["with scripts", "without scripts"])
def test_an_undone_rejection_keeps_its_reason(
    open_browser: Open, live_server: Any, key: ApiKey, alice: User, scripts: bool
) -> None:
    delivery_id = Agent(live_server.url, key).deliver(type="question", timeout_seconds=3600)
    screen = open_browser(alice, scripts=scripts)
    page = screen.go(f"/deliveries/{delivery_id}/")

    page.get_by_label("Message to the agent").fill("Not before Monday.")
    screen.press("No, don't")
    screen.press("Undo: Market report ready for your review")

    assert page.url.endswith(f"/deliveries/{delivery_id}/")
    assert page.get_by_label("Message to the agent").input_value() == "Not before Monday."


def test_the_second_person_to_answer_keeps_their_text(
    open_browser: Open, live_server: Any, key: ApiKey, alice: User, bob: User
) -> None:
    delivery_id = Agent(live_server.url, key).deliver()
    alices = open_browser(alice)
    bobs = open_browser(bob, permissions=["clipboard-read", "clipboard-write"])
    for screen in (alices, bobs):
        screen.go(f"/deliveries/{delivery_id}/")

    alices.page.get_by_label("Message to the agent").fill("Fine by me.")
    alices.press("Approve")
    bobs.page.get_by_label("Message to the agent").fill("Cut section three.")
    bobs.press("Reject")

    assert "alice answered first" in bobs.page.inner_text("h1")
    assert "Fine by me." in bobs.page.inner_text("main")
    assert bobs.page.get_by_label("Your message").input_value() == "Cut section three."

    bobs.page.wait_for_selector("html[data-ready]", state="attached")
    bobs.page.get_by_role("button", name="Copy").click()
    bobs.page.get_by_role("button", name="Copied").wait_for()
    assert bobs.page.evaluate("navigator.clipboard.readText()") == "Cut section three."


def test_fields_are_edited_and_turned_into_json(
    open_browser: Open, live_server: Any, key: ApiKey, alice: User, age: Age
) -> None:
    agent = Agent(live_server.url, key)
    delivery_id = agent.deliver(details={"title": "Report", "pages": 12, "final": False})
    screen = open_browser(alice)
    page = screen.go(f"/deliveries/{delivery_id}/edit")

    page.get_by_label("title").fill("Market report")
    page.get_by_label("final").select_option("true")
    page.get_by_label("title").press("Enter")
    page.wait_for_selector(".diff__line--added")
    assert agent.poll(delivery_id)["status"] == "pending"
    screen.press("Raw JSON")
    screen.press("Send changes")

    age(delivery_id, seconds=11)
    edited = agent.poll(delivery_id)["edited_content"]
    assert edited == {"title": "Market report", "pages": 12, "final": True}


def test_the_editor_reports_invalid_json_while_typing(
    open_browser: Open, live_server: Any, key: ApiKey, alice: User
) -> None:
    delivery_id = Agent(live_server.url, key).deliver(details={"list": [1]})
    page = open_browser(alice).go(f"/deliveries/{delivery_id}/edit")

    page.get_by_label("The agent's JSON").fill('{"list": [1}')
    page.wait_for_selector("#edit-error:has-text('Not valid JSON: ')")
    page.get_by_text("Sent as a JSON object").click()
    page.get_by_label("Text").check()

    page.wait_for_selector("#edit-error:empty", state="attached")


def test_a_password_can_be_shown(open_browser: Open) -> None:
    page = open_browser().go("/login/")
    page.get_by_label("Password", exact=True).fill("correct horse")

    page.get_by_role("button", name="Show the password").click()

    assert page.locator("[name=password]").get_attribute("type") == "text"
