"""Adds the tags and filters that templates need."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from django import template
from django.template.context import Context
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from inbox.answering.editing.word_diffs import Changes
from inbox.answering.outcome_words import status_words
from inbox.delivery.attachments import files_of
from inbox.rendering import details as safe_details
from inbox.rendering.diff_html import diff_html
from inbox.rendering.json_text import read, readable
from inbox.search.marks import marked
from inbox.search.query_language import Query
from pages import sizes, times
from pages.characters.invisible import name_invisible, reveal
from pages.characters.look_alikes import foreign_scripts
from pages.monograms import Monogram
from pages.monograms import monogram as monogram_of
from wake.models import Delivery

register = template.Library()

LONGEST_PHRASE = 60  # beside the answer


@register.inclusion_tag("inbox/delivery/_details.html", takes_context=True)
def details(
    context: Context, delivery: Delivery, name: str = "details", *, inputs_apart: bool = False
) -> dict[str, Any]:
    """Renders an agent's details, as the only tag that may; `name` is the frame's id. A page that
    shows the inputs itself passes `inputs_apart`."""
    asked_for = context["request"].GET.get("details", "")
    rendered = safe_details.render(
        delivery.details_json,
        asked_for=asked_for,
        inputs_apart=inputs_apart,
        files=files_of(delivery),
    )
    return {"delivery": delivery, "rendered": rendered, "is_raw": asked_for == "raw", "name": name}


@register.filter
def size(count: int) -> str:
    return sizes.size(count)


@register.simple_tag
def diff(changes: Changes, label: str = "Changes") -> SafeString:
    return diff_html(changes, label=label)


@register.filter
def visible(text: object) -> str:
    """Returns an agent's text on one line, with its invisible characters named."""
    return reveal(str(text))


@register.filter
def duration(seconds: float) -> str:
    """Returns `40 s` or `15 min`."""
    return times.amount(timedelta(seconds=seconds))


@register.filter
def marked_as(text: object, query: Query | None) -> str:
    """Returns the same as `visible`, with `<mark>` around the words that a search looked for."""
    visible_text = reveal(str(text))
    return marked(visible_text, query.terms) if query and query.terms else visible_text


@register.filter
def briefly(phrases: Sequence[str]) -> str:
    """Returns a short phrase as it is, and several or a long one as a number: `3 things`."""
    if len(phrases) == 1:
        return phrases[0] if len(phrases[0]) <= LONGEST_PHRASE else "one thing"
    return f"{len(phrases):,} things"


@register.filter
def full_stop(sentence: str) -> str:
    """Returns the text with a full stop, unless it ends with a mark of its own."""
    return sentence if sentence.endswith((".", "!", "?", "…")) else f"{sentence}."


@register.filter
def outcome(delivery: Delivery) -> str:
    """Returns the answer in one or two words: `Approved`, `Answered`, `Changes requested`."""
    return status_words(delivery.type, delivery.status)


@register.filter
def sender(name: object) -> str:
    """Returns the name of a sender like `visible`, with the scripts of letters that a reader may
    take for Latin ones: `pay ⟨Cyrillic letters⟩`."""
    scripts = foreign_scripts(str(name))
    note = f" ⟨{' and '.join(scripts)} letters⟩" if scripts else ""
    return f"{name_invisible(str(name))}{note}"


@register.filter
def content(edited_json: str) -> str:
    """Returns an edit as a person reads it: a text as it is, an object with one member a line."""
    value = read(edited_json)
    return reveal(value if isinstance(value, str) else readable(edited_json))


@register.simple_tag(takes_context=True)
def moment(context: Context, value: datetime) -> SafeString:
    """Returns `yesterday 11:42`, with the full time for machines and as a tooltip."""
    local = timezone.localtime(value)
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        value.isoformat(timespec="minutes"),
        times.in_full(local),
        times.in_short(local, now=context["now"]),
    )


@register.filter
def monogram(name: object) -> Monogram:
    """Returns a sender's short mark with its colour."""
    return monogram_of(str(name))


@register.simple_block_tag(takes_context=True)
def card(context: Context, content: SafeString, **parts: Any) -> SafeString:
    """Renders one concern as a card: its title, one sentence, its state and one action, above what
    the tag encloses. The parts are those of inbox/pages/_card.html."""
    shared = {"csrf_token": context.get("csrf_token"), "content": content.strip() and content}
    return render_to_string("inbox/pages/_card.html", {"level": 2, **parts, **shared})
