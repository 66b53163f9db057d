"""Shows how long each team keeps content. Owners can change this time."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpResponse
from django.views.decorators.http import require_POST, require_safe

from accounts.access.owners import still_owned, team_of_an_owner
from accounts.access.requests import PersonRequest
from accounts.limits.throttles import client_address
from accounts.models import Team
from accounts.teams.own_teams import own_teams
from database.clock import database_now
from inbox.history.retention.forms import RetentionForm
from pages.page import page
from pages.settings import saved, settings_page
from wake.models import UploadedBlob
from wake.retention import (
    COUNT_LIMIT,
    count_erasable,
    days_kept,
    effective_days,
    keep_content,
)

RETENTION_REFUSED = "Only team owners can change retention"


@require_safe
@page
def retention_settings(request: PersonRequest) -> HttpResponse:
    return _show(request, RetentionForm(), team_id=None)


@require_POST
@page
def change_retention(request: PersonRequest, slug: str) -> HttpResponse:
    """Changes the retention. Asks for confirmation if content would be erased immediately."""
    team = team_of_an_owner(request, slug, refusal=RETENTION_REFUSED)
    now = database_now()
    form = RetentionForm(request.POST)
    if not form.is_valid():
        return _show(request, form, team_id=team.pk)
    days = form.cleaned_data["days"]
    is_agreed = days is None or days == form.cleaned_data["erase"]
    if not is_agreed and (count := count_erasable(team, days=days, at=now)):
        form.add_error("days", _warning(count, days))
        return _show(request, form, team_id=team.pk, erases=days)
    address = client_address(request)
    with still_owned(request, team.pk):
        keep_content(team, days=days, by=request.user, at=now, address=address)
    duration = f"for {_in_words(days)}" if days else "forever"
    return saved(request, "settings-retention", f"{team.name} keeps content {duration}.")


def _show(
    request: PersonRequest, form: RetentionForm, *, team_id: int | None, erases: int | None = None
) -> HttpResponse:
    """Shows the page, with the sent form under its own team."""
    teams = own_teams(request.user)
    days_by_team = days_kept(own.team for own in teams)
    stored = UploadedBlob.objects.bytes_by_team([own.team.pk for own in teams])
    lines = [
        (
            own,
            effective_days(days_by_team[own.team.pk]) if own.team.pk in days_by_team else None,
            form if own.team.pk == team_id else _form(own.team, days_by_team),
            stored.get(own.team.pk, 0),
        )
        for own in teams
    ]
    room = settings.WAKE_MAX_TEAM_BLOB_BYTES
    return settings_page(
        request,
        "inbox/history/retention/retention.html",
        lines=lines,
        form=form,
        erases=erases,
        room=room,
        floor=settings.WAKE_RETENTION_FLOOR_DAYS,
    )


def _form(team: Team, days_by_team: dict[int, int]) -> RetentionForm:
    return RetentionForm(initial={"days": days_by_team.get(team.pk)}, auto_id=f"team-{team.pk}-%s")


def _warning(count: int, days: int) -> str:
    number = f"More than {COUNT_LIMIT - 1:,}" if count >= COUNT_LIMIT else f"{count:,}"
    are = "delivery is" if count == 1 else "deliveries are"
    return (
        f"{number} {are} older than {_in_words(days)}. Their content will be erased within "
        "minutes. This can't be undone."
    )


def _in_words(days: int) -> str:
    return "1 day" if days == 1 else f"{days} days"
