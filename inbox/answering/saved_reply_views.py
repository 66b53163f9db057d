"""A person's saved phrases: add, change, remove."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_POST

from inbox import presets
from inbox.forms_settings import PhraseForm
from inbox.models import Preset
from inbox.views.page import PersonRequest, form_page, page
from inbox.views.settings import posted, saved, settings_page


@form_page
@page
def phrases(request: PersonRequest) -> HttpResponse:
    form = PhraseForm(posted(request), instance=Preset(user=request.user))
    if _is_saved(form):
        return saved(request, "settings-phrases")
    grouped = presets.by_answer(Preset.objects.of(request.user))
    return settings_page(request, "phrases", form=form, groups=grouped)


@form_page
@page
def phrase(request: PersonRequest, pk: UUID) -> HttpResponse:
    mine = get_object_or_404(Preset.objects.of(request.user), pk=pk)
    form = PhraseForm(posted(request), instance=mine)
    if _is_saved(form):
        return saved(request, "settings-phrases")
    return settings_page(request, "phrase", form=form, phrase=mine)


@require_POST
@page
def remove(request: PersonRequest, pk: UUID) -> HttpResponse:
    get_object_or_404(Preset.objects.of(request.user), pk=pk).delete()
    return saved(request, "settings-phrases", "Removed.")


def _is_saved(form: PhraseForm) -> bool:
    if not form.is_valid():
        return False
    try:
        presets.save_phrase(form.instance)
    except (presets.TooMany, presets.SameName) as reason:
        form.add_error(None, str(reason))
        return False
    return True
