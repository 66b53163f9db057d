"""Shows the agents of the person's teams: deliveries, answers and keys."""

from __future__ import annotations

from uuid import UUID

from django.core.paginator import Paginator
from django.db.models import Max
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_safe

from accounts.access import agents_of
from accounts.agents import quota
from accounts.models import ApiKey
from database.clock import database_now
from inbox.agents.keys import key_lines, slowed_down_since
from inbox.callbacks import callbacks
from inbox.pages.bar_chart import bars
from inbox.pages.page import PersonRequest, page
from inbox.pages.panels import notes, panels
from inbox.pages.times import amount, midnight
from inbox.pages.viewer import Viewer
from inbox.statistics import figures as agent_figures

PAGE = 100


@require_safe
@page
def agent_list(request: PersonRequest) -> HttpResponse:
    now = database_now()
    viewer = Viewer.of(request.user)
    agents = agents_of(request.user).annotate(
        last_seen=Max("keys__last_used_at"), slowed_at=Max("keys__slowed_at")
    )
    pages = Paginator(agent_figures.with_provider(agents).order_by("agent_id", "pk"), PAGE)
    page_of_agents = pages.get_page(request.GET.get("page"))
    outlines = agent_figures.outlines(page_of_agents, at=now)
    no_deliveries = agent_figures.Outline()
    notes_of = notes("agents", list(page_of_agents), at=now)
    context = {
        "here": "agents",
        "now": now,
        "today": midnight(now),
        "lines": [
            (
                agent,
                viewer.team_label(agent.team_id),
                outlines.get(agent.pk, no_deliveries),
                notes_of.get(agent.pk, ""),
            )
            for agent in page_of_agents
        ],
        "pages": page_of_agents,
        "may_add": bool(viewer.owned_team_ids),
    }
    return render(request, "inbox/agents/agents.html", context)


@require_safe
@page
def agent_detail(request: PersonRequest, pk: UUID) -> HttpResponse:
    now = database_now()
    viewer = Viewer.of(request.user)
    agents = agent_figures.with_provider(agents_of(request.user))
    agent = get_object_or_404(agents, pk=pk)
    figures = agent_figures.figures(agent, at=now)
    keys = key_lines(agent, at=now)
    context = {
        "here": "agents",
        "now": now,
        "agent": agent,
        "team": viewer.team_label(agent.team_id),
        "is_owner": viewer.is_owner(agent.team_id),
        "keys": keys,
        "aliases": agent.claimed_ids.order_by("pattern"),
        "secrets": agent.signing_secrets.in_use(),
        "delivered_today": figures.days[-1].delivered,
        "slowed_down": slowed_down_since(keys, midnight(now)),
        "figures": figures,
        "median_time": figures.answers.took and amount(figures.answers.took),
        "counted_answers": agent_figures.ANSWERS_LOOKED_AT,
        "bars": zip(figures.days, bars([day.delivered for day in figures.days]), strict=True),
        "busiest_day": max(day.delivered for day in figures.days),
        "waiting": agent_figures.waiting_of(agent),
        "unsent": callbacks.unfinished_of(
            agent.pk, team_id=agent.team_id, at_most=agent_figures.WAITING_AT_MOST
        ),
        "counted_at_most": agent_figures.WAITING_AT_MOST,
        "panels": panels("agent", agent, user=request.user, at=now),
        "quota": {mode: quota.quota_of(mode, agent.hourly_limit) for mode in ApiKey.Mode.values},
    }
    return render(request, "inbox/agents/agent.html", context)
