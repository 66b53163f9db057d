"""Shows the agents of the person's teams: health, deliveries, answers and keys."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.access.requests import PersonRequest
from accounts.access.viewer import Viewer
from accounts.agents import quota
from accounts.models import ApiKey, Membership, OAuthGrant
from accounts.oauth.pages.listing import grant_lines
from database.clock import database_now
from inbox.agents import concerns, overview
from inbox.agents.agent_list import PAGE, lines_of, notes_of, page_number
from inbox.agents.credentials.keys import key_lines
from inbox.agents.health import health_of
from inbox.statistics import figures as agent_figures
from inbox.statistics.bar_chart import bars
from pages.page import page
from pages.panels import panels
from pages.times import amount, midnight

LONGEST_SEARCH = 128


@require_safe
@page
def agent_list(request: PersonRequest) -> HttpResponse:
    now = database_now()
    viewer = Viewer.of(request.user)
    text = request.GET.get("q", "").strip()[:LONGEST_SEARCH]
    is_archived = request.GET.get("archived") == "yes"
    number = page_number(request.GET.get("page", ""))
    agents = overview.listed_agents(viewer, text=text, is_archived=is_archived, at=now)
    start = (number - 1) * PAGE
    rows = list(agents[start : start + PAGE + 1])
    lines = lines_of(rows[:PAGE], viewer, at=now)
    context = {
        "nav": "agents",
        "now": now,
        "today": midnight(now),
        "text": text,
        "is_archived": is_archived,
        "lines": lines,
        "has_teams": len(viewer.memberships) > 1,
        "notes": [] if is_archived else notes_of(lines, at=now),
        "next_page": number + 1 if len(rows) > PAGE else None,
        "may_add": bool(viewer.owned_team_ids),
    }
    return render(request, "inbox/agents/agents.html", context)


@require_safe
@page
def agent_detail(request: PersonRequest, pk: UUID) -> HttpResponse:
    now = database_now()
    agent = overview.agent_with_overview(request.user, pk)
    figures = agent_figures.figures(agent, at=now)
    keys = key_lines(agent, at=now)
    clients = grant_lines(OAuthGrant.objects.of_agent(agent), at=now)
    health = health_of(agent, keys, clients, figures, at=now)
    context = {
        "nav": "agents",
        "now": now,
        "agent": agent,
        "team": agent.team.name if agent.own_teams > 1 else "",
        "is_owner": agent.role == Membership.Role.OWNER,
        "health": health,
        "keys": keys,
        "clients": clients,
        "aliases": sorted((agent.alias_lines or "").splitlines()),
        "states": concerns.states_of(agent, health),
        "actions": concerns.actions_of(agent),
        "figures": figures,
        "median_time": figures.answers.took and amount(figures.answers.took),
        "counted_answers": agent_figures.ANSWERS_LOOKED_AT,
        "bars": zip(figures.days, bars([day.delivered for day in figures.days]), strict=True),
        "counted_at_most": overview.MAX_COUNTED,
        "panels": panels("agent", agent, user=request.user, at=now),
        "quota": {mode: quota.quota_of(mode, agent.hourly_limit) for mode in ApiKey.Mode.values},
    }
    return render(request, "inbox/agents/agent.html", context)
