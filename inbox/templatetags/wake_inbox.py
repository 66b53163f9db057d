"""Adds the tags and filters that show deliveries, answers and searches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import template
from django.template.context import Context
from django.utils.safestring import SafeString

from inbox.reading.attachments import files_of
from inbox.reading.status_words import status_words
from inbox.rendering import details as safe_details
from inbox.rendering.diffs.diff_html import diff_html
from inbox.rendering.diffs.word_diffs import Changes
from inbox.rendering.json_text import read, readable
from inbox.search.marks import marked
from inbox.search.query_language import Query
from pages.characters.directions import isolated
from pages.characters.invisible import reveal_value
from wake.models import Delivery

register = template.Library()

LONGEST_PHRASE = 60  # characters that fit beside the answer


@register.inclusion_tag("inbox/delivery/_details.html", takes_context=True)
def details(
    context: Context, delivery: Delivery, name: str = "details", *, inputs_apart: bool = False
) -> dict[str, Any]:
    """Renders an agent's details. No other tag may do this. `name` is the frame's id. A page that
    shows the inputs itself passes `inputs_apart`."""
    asked_for = context["request"].GET.get("details", "")
    rendered = safe_details.render(
        delivery.details_json,
        asked_for=asked_for,
        inputs_apart=inputs_apart,
        files=files_of(delivery),
    )
    return {"delivery": delivery, "rendered": rendered, "is_raw": asked_for == "raw", "name": name}


@register.simple_tag
def plain(rendered: safe_details.RenderedDetails) -> str:
    """Returns details that are shown as plain text or as JSON."""
    return isolated(rendered.plain, is_code=rendered.is_json)


@register.simple_tag
def diff(changes: Changes, label: str = "Changes") -> SafeString:
    return diff_html(changes, label=label)


@register.filter
def marked_as(text: object, query: Query | None) -> str:
    """Works like `visible`, with `<mark>` around the searched words."""
    visible_text = reveal_value(str(text))
    return marked(visible_text, query.terms) if query and query.terms else isolated(visible_text)


@register.filter
def briefly(phrases: Sequence[str]) -> str:
    """Returns a single short phrase unchanged. For several phrases, or for a long phrase, returns
    their number: `3 things`."""
    if len(phrases) == 1:
        return phrases[0] if len(phrases[0]) <= LONGEST_PHRASE else "one thing"
    return f"{len(phrases):,} things"


@register.filter
def outcome(delivery: Delivery) -> str:
    """Returns the answer in one or two words: `Approved`, `Answered`, `Changes requested`."""
    return status_words(delivery.type, delivery.status)


@register.filter
def content(edited_json: str) -> str:
    """Returns an edit in readable form: a text unchanged, an object with one member on each
    line."""
    value = read(edited_json)
    return reveal_value(value if isinstance(value, str) else readable(edited_json))
