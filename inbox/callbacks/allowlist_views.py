"""Shows the hosts that a team's callbacks may go to; owners change them."""

from __future__ import annotations

import threading
from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.http import require_POST, require_safe

from accounts.access.owners import still_owned, team_of_an_owner
from accounts.access.requests import PersonRequest, actor
from accounts.limits.throttles import TooManyRequests
from accounts.models import Team
from accounts.teams.own_teams import own_teams
from inbox.callbacks.host_form import HostForm
from inbox.callbacks.limits import count_dns_lookup
from inbox.callbacks.resume_urls import SERVICES
from inbox.callbacks.team_hosts import hosts_by_team
from pages.confirmation import confirmation_page
from pages.page import form_page, page, too_many
from pages.redirects import SeeOther
from pages.settings import saved, settings_page
from wake.callbacks import addresses
from wake.callbacks import allowlist as hosts
from wake.models import CallbackHost

HOSTS_REFUSED = "Only team owners can change callback hosts"
# This limit is for each process, as in wake/callbacks/test_callback.py. A look-up occupies one of
# the few threads.
LOOK_UPS_AT_ONCE = 2
BUSY = "Another check is running. Try again in ten seconds."
_slots = threading.BoundedSemaphore(LOOK_UPS_AT_ONCE)


@require_safe
@page
def allowlist(request: PersonRequest) -> HttpResponse:
    """Shows the page. With `for` and `team` in the query, fills in the host of a service."""
    service = SERVICES.get(request.GET.get("for", ""))
    if service is None:
        return _show(request, HostForm(), slug="")
    form = HostForm(initial={"pattern": service.host})
    return _show(request, form, slug=request.GET.get("team", ""))


@require_POST
@page
def allow_host(request: PersonRequest, slug: str) -> HttpResponse:
    team = team_of_an_owner(request, slug, refusal=HOSTS_REFUSED)
    form = HostForm(request.POST)
    if form.is_valid():
        try:
            with still_owned(request, team.pk):
                pattern = form.cleaned_data["pattern"]
                line, _ = hosts.allow(pattern, team=team, by=actor(request))
        except hosts.AddressRefused as reason:
            form.add_error("pattern", str(reason))
        else:
            return saved(
                request, "settings-allowlist", f"Callbacks to {line.pattern} are now allowed."
            )
    return _show(request, form, slug=team.slug)


@form_page
@page
def remove_host(request: PersonRequest, slug: str) -> HttpResponse:
    """Asks for confirmation on GET and removes on POST."""
    team = team_of_an_owner(request, slug, refusal=HOSTS_REFUSED)
    if request.method != "POST" and "pattern" not in request.GET:
        return SeeOther("settings-allowlist")
    line = _line(request, team)
    if request.method != "POST":
        return confirmation_page(
            request,
            title=f"Remove {line.pattern}",
            text="Callbacks to this host are no longer sent. Agents can still fetch their answers.",
            action="Remove host",
            back=reverse("settings-allowlist"),
        )
    with still_owned(request, line.team_id):
        hosts.disallow(line, by=actor(request))
    message = f"Callbacks to {line.pattern} are no longer allowed. Agents can still fetch answers."
    return saved(request, "settings-allowlist", message)


@require_POST
@page
def look_up_host(request: PersonRequest, slug: str) -> HttpResponse:
    """Checks whether the host's name now resolves to an address that callbacks may connect to."""
    line = _line(request, team_of_an_owner(request, slug, refusal=HOSTS_REFUSED))
    try:
        count_dns_lookup(request)
    except TooManyRequests as error:
        waits = _show(request, HostForm(), slug="", wait=error.retry_after)
        return too_many(waits, error.retry_after)
    if _slots.acquire(blocking=False):
        try:
            _look_up(request, line.pattern)
        finally:
            _slots.release()
    else:
        messages.warning(request, BUSY)
    return SeeOther("settings-allowlist")


def _look_up(request: PersonRequest, name: str) -> None:
    try:
        addresses.look_up(name)
    except hosts.AddressRefused as reason:
        messages.warning(request, str(reason))
    except OSError:
        messages.warning(request, f"DNS lookup failed for {name}.")
    else:
        messages.success(request, f"{name} resolves to an allowed address.")


def _show(request: PersonRequest, form: HostForm, *, slug: str, **context: Any) -> HttpResponse:
    """Shows the page, with the form under the team of the slug."""
    teams = own_teams(request.user)
    allowed = hosts_by_team([own.team.pk for own in teams])
    lines = [
        (
            own,
            allowed[own.team.pk],
            form if own.team.slug == slug else HostForm(auto_id=f"team-{own.team.pk}-%s"),
        )
        for own in teams
    ]
    return settings_page(
        request,
        "inbox/callbacks/allowlist.html",
        lines=lines,
        form=form,
        services=SERVICES,
        **context,
    )


def _line(request: PersonRequest, team: Team) -> CallbackHost:
    pattern = (request.POST or request.GET).get("pattern", "")
    return get_object_or_404(team.callback_hosts, pattern=pattern.replace("\0", ""))
