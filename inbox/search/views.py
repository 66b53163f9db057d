"""Saves a search as a view, and removes one."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import HttpResponse, QueryDict
from django.utils.http import urlencode
from django.views.decorators.http import require_POST

from accounts.access.requests import PersonRequest
from inbox.search import saved_views
from inbox.search.query_language import LONGEST, read_form
from pages.fields import NameField
from pages.page import page
from pages.redirects import SeeOther

INVALID = "Couldn't save the view. Enter a search and a name of up to 40 characters."


class ViewForm(forms.Form):
    name = NameField(max_length=saved_views.LONGEST_NAME)
    q = forms.CharField(max_length=LONGEST)


@require_POST
@page
def save_search(request: PersonRequest) -> HttpResponse:
    """Saves the search in `q` under `name`, and shows it."""
    form = ViewForm(request.POST)
    if not form.is_valid():
        messages.warning(request, INVALID)
        return _inbox(request.POST.get("q", ""))
    text = str(read_form(QueryDict(urlencode({"q": form.cleaned_data["q"]}))))
    try:
        saved_views.save_view(request.user, name=form.cleaned_data["name"], text=text)
    except saved_views.TooManyViews as reason:
        messages.warning(request, str(reason))
    else:
        messages.success(request, "View saved. It is pinned at the top of your inbox.")
    return _inbox(text)


@require_POST
@page
def remove_saved_view(request: PersonRequest) -> HttpResponse:
    saved_views.remove_view(request.user, name=request.POST.get("name", ""))
    messages.success(request, "View removed.")
    return _inbox(request.POST.get("q", ""))


def _inbox(text: str) -> HttpResponse:
    return SeeOther("inbox", query=urlencode({"q": text}) if text else "")
