"""A team works without an administrator. On an empty server, the owner signs in, registers an
agent, and issues, rotates and revokes the agent's key. The owner also invites a reviewer, and
removes that reviewer."""

from __future__ import annotations

import threading
from typing import Any
from urllib.parse import urlsplit

import httpx

from accounts.access.key_texts import hint_of
from accounts.management import first_run
from accounts.models import Agent
from tests.browser.screen import Open, Screen
from tests.fixtures.people import PASSWORD
from tests.types import Age
from tests.wake.server.up import eventually

HEADLINE = "Market report ready for your review"
DELIVERY = {
    "agent_id": "writing-agent",
    "provider": "claude",
    "type": "output",
    "headline": HEADLINE,
    "summary": "Analysed the ten largest competitors.",
    "details": "# Report\n\nTen competitors.",
}
PACE_SECONDS = 0.2  # above 60 a minute, bad keys are refused in another way


def http(origin: str, key: str) -> httpx.Client:
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.Client(base_url=origin, headers=headers, trust_env=False)


def sign_in(screen: Screen, email: str) -> None:
    screen.page.get_by_label("E-mail").fill(email)
    screen.page.get_by_label("Password", exact=True).fill(PASSWORD)
    screen.press("Sign in")


class Polls:
    """Runs an agent's programs, which keep polling with each key that they have received.
    `statuses` has the status codes of the answers to each key."""

    def __init__(self, origin: str, path: str) -> None:
        self.statuses: dict[str, list[int]] = {}
        self._origin, self._path = origin, path
        self._done = threading.Event()
        self._failed: httpx.HTTPError | None = None
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> Polls:
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._done.set()
        self._thread.join()
        assert self._failed is None

    def use(self, key: str) -> None:
        self.statuses[key] = []
        self.once_more()

    def once_more(self) -> None:
        """Waits until a poll that was sent after this call is answered, for each key. The next
        answer may belong to an earlier poll, so two more answers are needed."""
        enough = {key: len(codes) + 2 for key, codes in self.statuses.items()}
        eventually(lambda: all(len(self.statuses[key]) >= count for key, count in enough.items()))

    def _run(self) -> None:
        try:
            while not self._done.wait(PACE_SECONDS):
                for key, codes in list(self.statuses.items()):
                    with http(self._origin, key) as agent:
                        codes.append(agent.get(self._path).status_code)
        except httpx.HTTPError as failure:
            self._failed = failure


def test_a_team_works_from_sign_up_to_answer(
    open_browser: Open, live_server: Any, age: Age
) -> None:
    owner = open_browser()
    _first_run(owner)
    key = _agent_with_a_key(owner)
    reviewer = open_browser()
    _joins(reviewer, _invitation(owner))
    agent = http(live_server.url, key)
    delivery_id = agent.post("/wake/v1/deliver", json=DELIVERY).json()["delivery_id"]
    reviewer.go(f"/deliveries/{delivery_id}/")
    reviewer.press("Approve")
    age(delivery_id, seconds=11)

    with Polls(live_server.url, f"/wake/v1/response/{delivery_id}") as polls:
        polls.use(key)
        renewed = _rotated(owner, key)
        polls.use(renewed)
        both = [set(codes) for codes in polls.statuses.values()]
        _revoked(owner, key)
        polls.once_more()

    assert both == [{200}, {200}], "No poll is lost while both work."
    assert polls.statuses[key] == sorted(polls.statuses[key]), "It dies once."
    assert polls.statuses[key][-1] == 401
    assert set(polls.statuses[renewed]) == {200}
    answer = http(live_server.url, renewed).get(f"/wake/v1/response/{delivery_id}").json()
    assert answer["status"] == "approved"
    _is_let_go(owner, reviewer, delivery_id)
    _the_audit_tells_it(owner)


def _first_run(owner: Screen) -> None:
    """Does what `manage.py up` does on an empty server, and then sends the form."""
    assert first_run.set_up(email="olive@example.com", password=PASSWORD)
    owner.go("/")
    sign_in(owner, "olive@example.com")
    assert first_run.FIRST_AGENT in owner.page.inner_text("main")


def _agent_with_a_key(owner: Screen) -> str:
    page = owner.page
    owner.go("/agents/")
    owner.follow("Add agent")
    page.get_by_label("Agent ID").fill("writing-agent")
    owner.press("Add agent")
    assert page.inner_text("#once").startswith("whsec_")
    owner.follow("Next: create a key")
    owner.press("Create key")
    key = page.inner_text("#once")
    owner.follow("I've copied the key")
    assert page.url.endswith("/connect/")
    assert key not in page.content()
    return key


def _invitation(owner: Screen) -> str:
    owner.go("/settings/members/")
    owner.follow("Invite someone to Home")
    owner.press("Invite")
    return urlsplit(owner.page.inner_text("#link")).path


def _joins(reviewer: Screen, path: str) -> None:
    page = reviewer.go(path)
    page.get_by_label("Name", exact=True).fill("Rosa")
    page.get_by_label("E-mail").fill("rosa@example.com")
    page.get_by_label("Password", exact=True).fill(PASSWORD)
    page.get_by_label("Confirm password").fill(PASSWORD)
    reviewer.press("Join")
    assert "You joined Home." in page.inner_text("main")


def _rotated(owner: Screen, key: str) -> str:
    owner.go("/agents/")
    owner.follow("writing-agent")
    owner.follow(f"Rotate {hint_of(key)}")
    owner.page.get_by_label("In 1 hour").check()
    owner.press("Rotate key")
    return owner.page.inner_text("#once")


def _revoked(owner: Screen, key: str) -> None:
    owner.follow("I've copied the key")
    owner.follow(f"Revoke {hint_of(key)}")
    owner.press("Revoke key")
    assert "It no longer works." in owner.page.inner_text("main")


def _is_let_go(owner: Screen, reviewer: Screen, delivery_id: str) -> None:
    agent_pk = Agent.objects.get(agent_id="writing-agent").pk
    of_the_team = [
        f"/deliveries/{delivery_id}/",
        f"/deliveries/{delivery_id}/raw",
        f"/agents/{agent_pk}/",
        f"/agents/{agent_pk}/statistics/",
        f"/agents/{agent_pk}/connect/",
        "/settings/members/home/leave/",
    ]
    assert _codes(reviewer, of_the_team) == {200}
    owner.go("/settings/members/")
    owner.follow("Change: Rosa")
    owner.press("Remove")
    assert "Rosa was removed from Home." in owner.page.inner_text("main")
    assert _codes(reviewer, of_the_team) == {404}
    for path in ("/", "/history/", "/agents/", "/audit/"):
        page = reviewer.go(path).inner_text("main")
        assert HEADLINE not in page
        assert "writing-agent" not in page


def _codes(screen: Screen, paths: list[str]) -> set[int]:
    return {screen.page.request.get(path).status for path in paths}


def _the_audit_tells_it(owner: Screen) -> None:
    sentences = owner.go("/audit/").locator("main h3").all_inner_texts()
    for words in (
        "CLI created the team",
        "olive registered an agent",
        "olive created a key for writing-agent",
        "olive invited someone as reviewer",
        "Rosa joined the team, invited by olive",
        "writing-agent delivered",
        "Rosa approved",
        "Fetched by the agent",
        "olive rotated a key for writing-agent",
        "olive revoked a key for writing-agent",
        "olive removed a member",
    ):
        assert words in sentences, words
