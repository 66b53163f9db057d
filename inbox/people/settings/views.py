"""What a person prefers: each page is one form, and saving it calls one verb."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.forms import model_to_dict
from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from inbox.forms_settings import DigestForm, KeyboardForm, QuietHoursForm, ThemeForm
from inbox.preferences import change_preferences, preferences_of
from inbox.views.page import PersonRequest, SeeOther, form_page, page


@require_safe
@page
def begin(request: PersonRequest) -> HttpResponse:
    return SeeOther("settings-profile")


@form_page
@page
def theme(request: PersonRequest) -> HttpResponse:
    return _preferences_page(request, "theme", ThemeForm)


@form_page
@page
def keyboard(request: PersonRequest) -> HttpResponse:
    return _preferences_page(request, "keyboard", KeyboardForm)


@form_page
@page
def digest(request: PersonRequest) -> HttpResponse:
    return _preferences_page(
        request, "digest", DigestForm, now=timezone.now(), sends_mail=settings.WAKE_SENDS_MAIL
    )


@form_page
@page
def quiet_hours(request: PersonRequest) -> HttpResponse:
    return _preferences_page(request, "quiet-hours", QuietHoursForm)


def _preferences_page(
    request: PersonRequest, tab: str, form_class: type[forms.Form], **context: Any
) -> HttpResponse:
    preferences = preferences_of(request.user)
    form = form_class(posted(request), initial=model_to_dict(preferences))
    if not form.is_valid():
        return settings_page(request, tab, form=form, preferences=preferences, **context)
    change_preferences(request.user, at=timezone.now(), **form.cleaned_data)
    return saved(request, f"settings-{tab}")


def posted(request: PersonRequest) -> QueryDict | None:
    return request.POST if request.method == "POST" else None


def settings_page(request: PersonRequest, tab: str, **context: Any) -> HttpResponse:
    """422 where one of its forms was sent and is not right."""
    is_wrong = any(isinstance(each, forms.BaseForm) and each.errors for each in context.values())
    return render(
        request,
        f"inbox/settings/{tab.replace('-', '_')}.html",
        {"here": "settings", "tab": tab, **context},
        status=HTTPStatus.UNPROCESSABLE_ENTITY if is_wrong else HTTPStatus.OK,
    )


def saved(request: PersonRequest, name: str, words: str = "Saved.") -> HttpResponse:
    messages.success(request, words)
    return SeeOther(name)
