"""Serves the stream that notifies an open page of news."""

from __future__ import annotations

from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_GET

from accounts.access import team_filter
from accounts.access.requests import PersonRequest
from accounts.access.viewer import Viewer
from inbox.list.live.changes import PageFollower
from inbox.list.live.stream import ChangesStream, TooManyOpenPages, take_place
from inbox.reading.updates import read_mark
from pages.page import page
from wake.api import event_streams


@require_GET
def live(request: HttpRequest) -> HttpResponse:
    """Returns 204 if there is no stream, so that the browser does not reconnect. The page then
    polls from time to time. A redirect to the sign-in page would cause an error in the browser's
    console."""
    if not request.user.is_authenticated:
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    response: HttpResponse = _live(request)
    return response


@page
def _live(request: PersonRequest) -> HttpResponse:
    since = read_mark(request.GET.get("since", ""))
    viewer = team_filter.chosen(Viewer.of(request.user), request.GET)
    session_key = request.session.session_key
    if since is None or session_key is None or not viewer.team_ids:
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    try:
        event_streams.check(request)
        place = take_place(request.user.pk)
    except (event_streams.CannotStream, TooManyOpenPages):
        return HttpResponse(status=HTTPStatus.NO_CONTENT)
    stream = ChangesStream(PageFollower(viewer, session_key, since), place)
    return event_streams.hand_over(request, stream)
