"""Shows where a person and their teams are notified, and adds channels."""

from __future__ import annotations

from contextlib import AbstractContextManager

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpResponse
from django.views.decorators.http import require_safe

from accounts.access.owners import still_owned, team_of_an_owner
from accounts.access.requests import PersonRequest, actor
from accounts.models import Team
from accounts.sign_in.reauthentication import ask_if_stale
from database.clock import database_now
from inbox.models import Channel
from inbox.notifications.channels import channels
from inbox.notifications.channels.channel_views import send_first_code
from inbox.notifications.channels.channels import Owner
from inbox.notifications.channels.forms import ChannelForm
from inbox.notifications.channels.kinds.kind import ChannelKind
from inbox.notifications.channels.kinds.registry import kinds_for
from inbox.notifications.channels.listing import groups_of
from pages.page import form_page, page
from pages.redirects import SeeOther
from pages.settings import posted, settings_page

REFUSED = "Only team owners can change the channels of a team"


@require_safe
@page
def notification_settings(request: PersonRequest) -> HttpResponse:
    own, teams = groups_of(request.user)
    return settings_page(request, "inbox/notifications/settings/list.html", own=own, teams=teams)


@form_page
@page
def add_channel(request: PersonRequest) -> HttpResponse:
    return _form_page(request, _kind(request, of_team=False), None)


@form_page
@page
def add_team_channel(request: PersonRequest, slug: str) -> HttpResponse:
    team = team_of_an_owner(request, slug, refusal=REFUSED)
    return _form_page(request, _kind(request, of_team=True), team)


def _kind(request: PersonRequest, *, of_team: bool) -> ChannelKind:
    """Returns the kind in the address, or the first kind; raises Http404 for a kind that this form
    does not add."""
    kinds = [kind for kind in kinds_for(team=of_team) if not kind.added_at]
    name = request.GET.get("kind", kinds[0].name)
    for kind in kinds:
        if kind.name == name:
            return kind
    raise Http404


def _form_page(request: PersonRequest, kind: ChannelKind, team: Team | None) -> HttpResponse:
    if kind.links_account and (stale := ask_if_stale(request)):
        return stale
    form = ChannelForm(posted(request), kind=kind)
    if form.is_valid():
        try:
            channel = _add(request, kind, team, form)
        except (channels.TooManyChannels, channels.AlreadyThere) as reason:
            form.add_error(None, str(reason))
        else:
            if channel.verified_at is None:
                send_first_code(request, channel)
            else:
                messages.success(request, "Added. Choose what it sends you.")
            return SeeOther("settings-channel", pk=channel.pk)
    return settings_page(
        request,
        "inbox/notifications/settings/channel_new.html",
        form=form,
        kind=kind,
        team=team,
    )


def _add(
    request: PersonRequest, kind: ChannelKind, team: Team | None, form: ChannelForm
) -> Channel:
    unchanged: AbstractContextManager[None] = (
        still_owned(request, team.pk) if team else transaction.atomic()
    )
    with unchanged:
        return channels.add(
            Owner(team=team) if team else Owner(user=request.user),
            kind=kind.name,
            name=form.cleaned_data["name"],
            address=form.cleaned_data.get("address", ""),
            secret=form.cleaned_data.get("extra", ""),
            by=actor(request),
            at=database_now(),
        )
