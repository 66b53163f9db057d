"""Asks before an action that cannot be undone, or that affects other people."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def confirmation_page(
    request: HttpRequest, *, title: str, text: str, action: str, back: str, nav: str = "settings"
) -> HttpResponse:
    """Shows the page for GET. The page's button posts to the same address, with the values of the
    query. `back` is the address of Cancel."""
    context = {
        "nav": nav,
        "title": title,
        "text": text,
        "action": action,
        "back": back,
        "values": request.GET.items(),
    }
    return render(request, "pages/confirmation.html", context)
