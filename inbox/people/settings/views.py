"""Shows a person's preferences: each page is one form."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.forms import model_to_dict
from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.views.decorators.http import require_safe

from accounts.access.requests import PersonRequest
from database.clock import database_now
from inbox.people.settings.forms import (
    AnsweringForm,
    DigestForm,
    KeyboardForm,
    QuietHoursForm,
    ThemeForm,
)
from inbox.people.settings.overview import overview_of
from inbox.people.settings.preferences import change_preferences, preferences_of
from pages.page import form_page, page
from pages.redirects import SeeOther


@require_safe
@page
def settings_start(request: PersonRequest) -> HttpResponse:
    return settings_page(request, "overview", overview=overview_of(request.user))


@form_page
@page
def theme_settings(request: PersonRequest) -> HttpResponse:
    return _preferences_page(request, "theme", ThemeForm)


@form_page
@page
def answering_settings(request: PersonRequest) -> HttpResponse:
    return _preferences_page(request, "answering", AnsweringForm)


@form_page
@page
def keyboard_settings(request: PersonRequest) -> HttpResponse:
    return _preferences_page(request, "keyboard", KeyboardForm)


@form_page
@page
def digest_settings(request: PersonRequest) -> HttpResponse:
    return _preferences_page(
        request, "digest", DigestForm, now=database_now(), sends_mail=settings.WAKE_SENDS_MAIL
    )


@form_page
@page
def quiet_hours_settings(request: PersonRequest) -> HttpResponse:
    return _preferences_page(request, "quiet-hours", QuietHoursForm)


def _preferences_page(
    request: PersonRequest, tab: str, form_class: type[forms.Form], **context: Any
) -> HttpResponse:
    preferences = preferences_of(request.user)
    form = form_class(posted(request), initial=model_to_dict(preferences))
    if not form.is_valid():
        return settings_page(request, tab, form=form, preferences=preferences, **context)
    change_preferences(request.user, at=database_now(), **form.cleaned_data)
    return saved(request, f"settings-{tab}")


def posted(request: PersonRequest) -> QueryDict | None:
    return request.POST if request.method == "POST" else None


def settings_page(request: PersonRequest, tab: str, **context: Any) -> HttpResponse:
    """Renders a settings page; with status 422 if one of its forms has errors."""
    is_wrong = any(isinstance(each, forms.BaseForm) and each.errors for each in context.values())
    return render(
        request,
        f"inbox/people/settings/{tab.replace('-', '_')}.html",
        {"nav": "settings", "tab": tab, **context},
        status=HTTPStatus.UNPROCESSABLE_ENTITY if is_wrong else HTTPStatus.OK,
    )


def saved(request: PersonRequest, name: str, message: str = "Saved.") -> HttpResponse:
    messages.success(request, message)
    return SeeOther(name)
