"""Takes what is selected along: it is put into the address of wherever the person goes with it."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_POST

from inbox.places import Place
from inbox.views.page import PersonRequest, SeeOther, page

PAGES = {"review": "batch", "later": "later-choices"}


@require_POST
@page
def go(request: PersonRequest) -> HttpResponse:
    """`to` is review or later, else it is the inbox."""
    place = Place.left(request.POST)
    to = request.POST.get("to", "")
    if to in PAGES and place.ids:
        return SeeOther(PAGES[to], query=place.along())
    return SeeOther("inbox", query=str(place))
