"""One page leads everywhere, and it works without scripts."""

from __future__ import annotations

import re

from accounts.models import Agent
from inbox.search.saved_views import save_view
from tests.inbox.person import Person, text_of
from wake.models import Delivery


def test_it_leads_to_pages_saved_views_and_own_agents(
    alices: Person, agent: Agent, elsewhere: Delivery
) -> None:
    save_view(alices.user, name="Late ones", text="is:expired")

    page = alices.get("/go/")

    text = text_of(page)
    for title in ("Inbox", "History", "Late ones", "Quiet hours", "Alerts", agent.agent_id):
        assert title in text
    assert elsewhere.agent.agent_id not in text
    assert 'href="/?q=is%3Aexpired"' in page.content.decode()


def test_every_link_works(alices: Person, agent: Agent) -> None:
    html = alices.get("/go/").content.decode()
    paths = re.findall(r'<li><a href="([^"]+)"', html)

    assert len(paths) > 20
    for path in paths:
        assert alices.client.get(path, follow=True).status_code == 200


def test_words_narrow_it(alices: Person, agent: Agent) -> None:
    html = alices.get("/go/", q="quiet").content.decode()

    assert re.findall(r'<li><a href="([^"]+)"', html) == ["/settings/quiet-hours/"]


def test_every_setting_can_be_found(alices: Person) -> None:
    settings = set(
        re.findall(r'href="(/settings/[a-z-]+/)"', alices.get("/settings/").content.decode())
    )

    places = re.findall(r'<li><a href="([^"]+)"', alices.get("/go/").content.decode())

    assert {"/settings/rules/", "/settings/absence/"} < settings
    # The page of shortcuts has a link to this page of settings.
    assert settings - {"/settings/keyboard-shortcuts/"} <= set(places)
