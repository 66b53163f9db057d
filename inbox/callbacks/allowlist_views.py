"""The hosts that a team's callbacks may go to: its people read them, its owners change them."""

from __future__ import annotations

import threading
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_POST, require_safe

from accounts.access import is_owner, teams_of
from accounts.models import Team
from accounts.throttles import TooMany, count_look_up
from inbox.forms_settings import HostForm
from inbox.teams import own_teams_with_hosts
from inbox.views.page import PersonRequest, SeeOther, actor, page, too_many
from inbox.views.settings import saved, settings_page
from wake import destinations
from wake.models import CallbackHost

NOWHERE = "the name leads nowhere, or no name server answered in good time."
OWNERS_ONLY = "Only owners of the team change the hosts that its callbacks may go to"
# Of each process, as in wake/rehearsals.py: whoever waits has one of its few threads meanwhile.
AT_ONCE = 2
BUSY = "Others are checking in this moment. Nothing was changed; try again in ten seconds."
_places = threading.BoundedSemaphore(AT_ONCE)


@require_safe
@page
def show(request: PersonRequest) -> HttpResponse:
    return _show(request, HostForm(), team_id=None)


@require_POST
@page
def allow(request: PersonRequest, slug: str) -> HttpResponse:
    team = _team_of_an_owner(request, slug)
    form = HostForm(request.POST)
    if form.is_valid():
        try:
            line, _ = destinations.allow(form.cleaned_data["pattern"], team=team, by=actor(request))
        except destinations.Refused as reason:
            form.add_error("pattern", str(reason))
        else:
            return saved(request, "settings-allowlist", f"Callbacks may go to {line.pattern}.")
    return _show(request, form, team_id=team.pk)


@require_POST
@page
def disallow(request: PersonRequest, slug: str) -> HttpResponse:
    line = _line_of_an_owner(request, slug)
    destinations.disallow(line, by=actor(request))
    words = f"Callbacks no longer go to {line.pattern}; answers can still be fetched by polling."
    return saved(request, "settings-allowlist", words)


@require_POST
@page
def look_up(request: PersonRequest, slug: str) -> HttpResponse:
    """Whether its name leads somewhere that callbacks would connect to, now."""
    line = _line_of_an_owner(request, slug)
    try:
        count_look_up(request)
    except TooMany as error:
        waits = _show(request, HostForm(), team_id=None, wait=error.retry_after)
        return too_many(waits, error.retry_after)
    if _places.acquire(blocking=False):
        try:
            _look_up(request, line.pattern)
        finally:
            _places.release()
    else:
        messages.warning(request, BUSY)
    return SeeOther("settings-allowlist")


def _look_up(request: PersonRequest, name: str) -> None:
    try:
        destinations.look_up(name)
    except destinations.Refused as reason:
        messages.warning(request, str(reason))
    except OSError:
        messages.warning(request, f"{name}: {NOWHERE}")
    else:
        messages.success(request, f"{name} leads to an address that callbacks may go to.")


def _show(
    request: PersonRequest, form: HostForm, *, team_id: int | None, **context: Any
) -> HttpResponse:
    """With the form that was sent under its own team."""
    lines = [
        (own, form if own.team.pk == team_id else HostForm(auto_id=f"team-{own.team.pk}-%s"))
        for own in own_teams_with_hosts(request.user)
    ]
    return settings_page(request, "allowlist", lines=lines, form=form, **context)


def _line_of_an_owner(request: PersonRequest, slug: str) -> CallbackHost:
    team = _team_of_an_owner(request, slug)
    return get_object_or_404(team.callback_hosts, pattern=request.POST.get("pattern", ""))


def _team_of_an_owner(request: PersonRequest, slug: str) -> Team:
    """Not theirs and not there are the same 404."""
    team = get_object_or_404(teams_of(request.user), slug=slug)
    if not is_owner(request.user, team.pk):
        raise PermissionDenied(OWNERS_ONLY)
    return team
