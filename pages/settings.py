"""Shows settings pages beside their menu. Each app registers its pages in the menu."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from http import HTTPStatus
from itertools import groupby
from operator import attrgetter
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse

from pages.attention import Note
from pages.redirects import SeeOther

OWN, TEAMS, SERVER = "You", "Your teams", "This server"
SECTIONS = (OWN, TEAMS, SERVER)


def _no_state(_: Any) -> str:
    return ""


def _no_notes(_: Any) -> Iterable[Note]:
    return ()


def _everyone(_: Any) -> bool:
    return True


@dataclass(frozen=True, slots=True)
class SettingsPage:
    """Links to a settings page; `name` is the name of its URL. The menu is sorted by `place`, and
    marks the page at its own path, below it, and at the paths in `also`.

    On the overview, the page is a card with `text` and the state of one person's settings, below
    the notes that need the person's attention. `state` and `notes` take what the overview knows of
    the person (accounts/people/overview.py). `is_for` takes the person, and returns whether they
    may open the page. For others, neither the menu nor the overview has it.
    """

    section: str
    place: int
    title: str
    name: str
    also: tuple[str, ...] = ()
    text: str = ""
    state: Callable[[Any], str] = _no_state
    notes: Callable[[Any], Iterable[Note]] = _no_notes
    action: str = "Change"
    is_in_menu: bool = True
    is_for: Callable[[Any], bool] = _everyone

    @property
    def id(self) -> str:
        """Returns the anchor of the page's card on the overview."""
        return self.name.removeprefix("settings-")

    @property
    def href(self) -> str:
        return reverse(self.name)

    @property
    def label(self) -> str:
        return f"{self.action}: {self.title}"


_pages: list[SettingsPage] = []


def register(*entries: SettingsPage) -> None:
    """Adds pages to the menu. Apps call this when they start."""
    _pages.extend(entries)
    _pages.sort(key=lambda entry: (SECTIONS.index(entry.section), entry.place))


def pages_for(user: Any) -> list[SettingsPage]:
    return [entry for entry in _pages if entry.is_for(user)]


def settings_page(request: HttpRequest, template: str, **context: Any) -> HttpResponse:
    """Renders a settings page, with status 422 if one of its forms has errors."""
    is_wrong = any(isinstance(each, forms.BaseForm) and each.errors for each in context.values())
    return render(
        request,
        template,
        {"nav": "settings", "menu": _menu(request), **context},
        status=HTTPStatus.UNPROCESSABLE_ENTITY if is_wrong else HTTPStatus.OK,
    )


def saved(request: HttpRequest, name: str, message: str = "Saved.") -> HttpResponse:
    messages.success(request, message)
    return SeeOther(name)


def posted(request: HttpRequest) -> QueryDict | None:
    return request.POST if request.method == "POST" else None


def _menu(request: HttpRequest) -> list[tuple[str, list[tuple[str, str, bool]]]]:
    """Returns the sections with their links: title, address, and whether the request is for it."""
    shown = (each for each in pages_for(request.user) if each.is_in_menu)
    return [
        (section, [(each.title, each.href, _is_at(each, request.path)) for each in entries])
        for section, entries in groupby(shown, attrgetter("section"))
    ]


def _is_at(entry: SettingsPage, path: str) -> bool:
    return any(path.startswith(reverse(name)) for name in (entry.name, *entry.also))
