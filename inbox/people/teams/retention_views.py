"""For how long each team keeps what was written: its people read it, its owners change it."""

from __future__ import annotations

from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from accounts.access import is_owner, teams_of
from accounts.models import Team
from accounts.throttles import client_address
from inbox.forms_settings import RetentionForm
from inbox.teams import own_teams
from inbox.views.page import PersonRequest, page
from inbox.views.settings import saved, settings_page
from wake.retention import COUNTED, count_erasable, days_kept, keep_content

OWNERS_ONLY = "Only owners of the team say for how long it keeps what was written"


@require_safe
@page
def show(request: PersonRequest) -> HttpResponse:
    return _show(request, RetentionForm(), team_id=None)


@require_POST
@page
def keep(request: PersonRequest, slug: str) -> HttpResponse:
    """Not theirs and not there are the same 404. What goes at once is told first."""
    team = get_object_or_404(teams_of(request.user), slug=slug)
    if not is_owner(request.user, team.pk):
        raise PermissionDenied(OWNERS_ONLY)
    now = timezone.now()
    form = RetentionForm(request.POST)
    if not form.is_valid():
        return _show(request, form, team_id=team.pk)
    days = form.cleaned_data["days"]
    is_agreed = days is None or days == form.cleaned_data["erase"]
    if not is_agreed and (count := count_erasable(team, days=days, at=now)):
        form.add_error("days", _warning(count, days))
        return _show(request, form, team_id=team.pk, erases=days)
    address = client_address(request)
    keep_content(team, days=days, by=request.user, at=now, address=address)
    kept = f"for {_in_words(days)}" if days else "for ever"
    return saved(request, "settings-retention", f"{team.name} keeps what was written {kept}.")


def _show(
    request: PersonRequest, form: RetentionForm, *, team_id: int | None, erases: int | None = None
) -> HttpResponse:
    """With the form that was sent under its own team."""
    teams = own_teams(request.user)
    kept = days_kept(own.team for own in teams)
    lines = [
        (own, kept.get(own.team.pk), form if own.team.pk == team_id else _form(own.team, kept))
        for own in teams
    ]
    return settings_page(request, "retention", lines=lines, form=form, erases=erases)


def _form(team: Team, kept: dict[int, int]) -> RetentionForm:
    return RetentionForm(initial={"days": kept.get(team.pk)}, auto_id=f"team-{team.pk}-%s")


def _warning(count: int, days: int) -> str:
    number = f"More than {COUNTED - 1:,}" if count >= COUNTED else f"{count:,}"
    are = "delivery is" if count == 1 else "deliveries are"
    return (
        f"{number} {are} older than {_in_words(days)}. What was written in them would be erased "
        "within minutes, and nobody can bring it back."
    )


def _in_words(days: int) -> str:
    return "1 day" if days == 1 else f"{days} days"
