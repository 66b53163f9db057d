"""Shows a person's preferences: each page is one form."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.forms import model_to_dict
from django.http import HttpResponse

from accounts.access.requests import PersonRequest
from database.clock import database_now
from inbox.preferences.forms import (
    AnsweringForm,
    DigestForm,
    KeyboardForm,
    QuietHoursForm,
    ThemeForm,
)
from inbox.preferences.preferences import change_preferences, preferences_of
from pages.page import form_page, page
from pages.settings import posted, saved, settings_page


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
        template = f"inbox/preferences/{tab.replace('-', '_')}.html"
        return settings_page(request, template, form=form, preferences=preferences, **context)
    change_preferences(request.user, at=database_now(), **form.cleaned_data)
    return saved(request, f"settings-{tab}")
