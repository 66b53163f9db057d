"""Serves cards to every reader on every site. Caches store cards for a minute. A reader that names
a version of A2A gets the card of that version."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps

from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404
from django.utils.cache import get_conditional_response
from django.utils.http import http_date
from django.views.decorators.http import require_safe

from accounts.access.moves import TeamMoved, TeamMoving, refuse_moved_handle
from relay.cards import cards
from relay.models import Card
from relay.protocol import cross_origin, versions
from wake.api import errors

READS = "GET, HEAD"
View = Callable[..., HttpResponseBase]


def for_every_site(view: View) -> View:
    """Lets pages of other sites request a card by its version, too. A request with the header
    A2A-Version is not simple, so the browser first asks whether the page may send it (CORS)."""
    safe = require_safe(view)

    @wraps(view)
    def answer(request: HttpRequest, **address: str) -> HttpResponseBase:
        if cross_origin.is_preflight(request):
            return cross_origin.preflight_response(READS)
        return safe(request, **address)

    return answer


@for_every_site
def of_agent(request: HttpRequest, handle: str, name: str) -> HttpResponseBase:
    card = Card.objects.at(handle, name).first()
    return _answer(request, card) if card else _not_there(handle)


@for_every_site
def of_handle(request: HttpRequest, handle: str) -> HttpResponseBase:
    """Redirects to the card of a team's only agent. Clients that resolve the card's path against
    `/@handle/agent` look here, because the last part of an address without a slash is dropped."""
    cards_there = list(Card.objects.of_handle(handle)[:2])
    if len(cards_there) != 1:
        return _not_there(handle)
    to = cards.path_of(cards_there[0]) + cards.PATH
    return cross_origin.let_any_page_read(HttpResponseRedirect(to, preserve_request=True))


@for_every_site
def of_root(request: HttpRequest) -> HttpResponseBase:
    return _answer(request, get_object_or_404(Card.objects.at_root()))


def _not_there(handle: str) -> HttpResponseBase:
    """Says where the team of the card is, if it moved to another server. Raises Http404."""
    try:
        refuse_moved_handle(handle)
    except (TeamMoving, TeamMoved) as reason:
        return cross_origin.let_any_page_read(errors.answer(reason))
    raise Http404


def _answer(request: HttpRequest, card: Card) -> HttpResponseBase:
    version = versions.read(versions.asked_for(request)) or ""
    body = cards.body_of(card, cards.origin_for(request), version)
    changed_at, etag = int(card.updated_at.timestamp()), cards.etag_of(body)
    headers = {"ETag": etag, "Last-Modified": http_date(changed_at), "Vary": "A2A-Version"}
    whole = HttpResponse(body, content_type="application/json", headers=headers)
    whole["Cache-Control"] = f"public, max-age={cards.KEPT_FOR}"
    answer = get_conditional_response(request, etag, changed_at, whole)
    assert answer is not None  # noqa: S101 - for the type checker: it is `whole`, a 304 or a 412
    # This includes a 304. Otherwise a browser would withhold the card from the page that requested
    # it.
    return cross_origin.let_any_page_read(answer)
