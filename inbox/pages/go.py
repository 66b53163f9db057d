"""Lists where a person can go: pages, saved views and agents. Ctrl or Cmd K opens this list."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_safe

from accounts.access.operators import is_operator
from accounts.access.requests import PersonRequest
from accounts.access.viewer import Viewer
from accounts.models import Agent
from inbox.reading.order import TITLES
from inbox.search.query_language import LONGEST
from inbox.search.saved_views import views_of
from pages.page import page

MAX_AGENTS = 100
PAGES = {
    "Inbox": "inbox",
    "Snoozed": "snoozed",
    "Mentions": "mentions",
    "Deadlines": "closing-soon",
    "Missed deadlines": "missed-deadlines",
    "History": "history",
    "Agents": "agents",
    "Add agent": "agent-new",
    "Callbacks": "callbacks",
    "Audit log": "audit",
    "Settings": "settings",
    "Profile": "settings-profile",
    "Security": "settings-security",
    "Theme and density": "settings-theme",
    "After you answer": "settings-answering",
    "Digest": "settings-digest",
    "Quiet hours": "settings-quiet-hours",
    "Notifications": "settings-notifications",
    "Absence": "settings-absence",
    "Saved replies": "settings-saved-replies",
    "Your data": "settings-data",
    "Teams": "settings-teams",
    "Members": "settings-members",
    "Clients": "settings-clients",
    "Rules": "settings-rules",
    "Callback hosts": "settings-allowlist",
    "Gate keys": "settings-gates",
    "Retention": "settings-retention",
    "Keyboard shortcuts": "keyboard-help",
}
PAGES_OF_OPERATORS = {"Server": "settings-server"}


@dataclass(frozen=True, slots=True)
class PageLink:
    """Links to one page. `kind` describes the page if the title does not."""

    title: str
    path: str
    kind: str = ""


@require_safe
@page
def go(request: PersonRequest) -> HttpResponse:
    text = request.GET.get("q", "").strip()[:LONGEST]
    viewer = Viewer.of(request.user)
    places = [*_views(request), *_pages(request), *_agents(viewer)]
    matches = [place for place in places if text.casefold() in place.title.casefold()]
    return render(request, "inbox/pages/go.html", {"text": text, "places": matches})


def _views(request: PersonRequest) -> list[PageLink]:
    searches = [(view.name, view.text, "Saved view") for view in views_of(request.user)]
    searches += [(title, f"type:{type}", "Inbox") for type, title in TITLES.items()]
    return [
        PageLink(title, f"{reverse('inbox')}?{urlencode({'q': text})}", kind)
        for title, text, kind in searches
    ]


def _pages(request: PersonRequest) -> list[PageLink]:
    names = PAGES | (PAGES_OF_OPERATORS if is_operator(request.user) else {})
    return [PageLink(title, reverse(name)) for title, name in names.items()]


def _agents(viewer: Viewer) -> list[PageLink]:
    own_agents = Agent.objects.active().filter(team__in=viewer.team_ids).order_by("agent_id")
    rows = own_agents.values_list("pk", "agent_id")[:MAX_AGENTS]
    return [PageLink(agent_id, reverse("agent", args=[pk]), "Agent") for pk, agent_id in rows]
