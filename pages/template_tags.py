"""Adds the tags and filters that the templates of all apps need (`{% load wake_pages %}`)."""

from __future__ import annotations

import re
import zlib
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django import template
from django.template.context import Context
from django.template.loader import render_to_string
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from pages import sizes, times
from pages.characters.directions import isolated
from pages.characters.invisible import name_invisible, reveal_value
from pages.characters.look_alikes import foreign_scripts

register = template.Library()

COLOURS = 8  # .monogram--0 to .monogram--7 in static/css/components.css
WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class Monogram:
    """Holds a short mark and a colour of a sender, so that a list can be scanned by sender."""

    text: str
    colour: int


@register.filter
def size(count: int) -> str:
    return sizes.size(count)


@register.filter
def visible(text: object) -> str:
    """Returns an agent's text on one line, with its invisible characters named."""
    return reveal_value(str(text))


@register.filter
def in_order(text: str) -> str:
    """Returns a text in which letters from right to left do not move what follows them."""
    return isolated(text)


@register.filter
def duration(seconds: float) -> str:
    """Returns `40 s` or `15 min`."""
    return times.amount(timedelta(seconds=seconds))


@register.filter
def full_stop(sentence: str) -> str:
    """Returns the text with a full stop, unless it already ends with a punctuation mark."""
    return sentence if sentence.endswith((".", "!", "?", "…")) else f"{sentence}."


@register.filter
def sender(name: object) -> str:
    """Returns the name of a sender like `visible`, with the scripts of letters that a reader may
    take for Latin ones: `pay ⟨Cyrillic letters⟩`."""
    scripts = foreign_scripts(str(name))
    note = f" ⟨{' and '.join(scripts)} letters⟩" if scripts else ""
    return f"{name_invisible(str(name))}{note}"


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
    """Returns `RA` for `research-agent-01`. The colour depends only on the name."""
    text = str(name)
    words = [word for word in WORD.findall(text) if not word.isdigit()] or WORD.findall(text)
    first, *others = words or ["?"]
    mark = f"{first[0]}{others[0][0]}" if others else first[:2]
    return Monogram(mark.upper(), zlib.crc32(text.encode()) % COLOURS)


@register.simple_block_tag(takes_context=True)
def card(context: Context, content: SafeString, **parts: Any) -> SafeString:
    """Renders one concern as a card with a title, a sentence, a state and an action. The content
    that the tag encloses follows below. The parts are the same as in pages/_card.html."""
    shared = {"csrf_token": context.get("csrf_token"), "content": content.strip() and content}
    return render_to_string("pages/_card.html", {"level": 2, **parts, **shared})
