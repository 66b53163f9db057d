"""What templates need beside `if` and `for`."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from django import template
from django.template.context import Context
from django.utils.html import format_html
from django.utils.safestring import SafeString

from inbox import details as safe_details
from inbox import moments
from inbox.changes import Changes
from inbox.diff_html import diff_html
from inbox.invisible import reveal
from inbox.json_text import read, readable
from wake.models import Delivery

register = template.Library()


@register.inclusion_tag("inbox/_details.html", takes_context=True)
def details(context: Context, delivery: Delivery, name: str = "details") -> dict[str, Any]:
    """The one door through which an agent's details reach a page; `name` is the frame's id."""
    asked_for = context["request"].GET.get("details", "")
    shown = safe_details.render(delivery.details_json, asked_for=asked_for)
    return {"delivery": delivery, "shown": shown, "is_raw": asked_for == "raw", "name": name}


@register.simple_tag
def diff(changes: Changes, label: str = "What the edit changes") -> SafeString:
    return diff_html(changes, label=label)


@register.filter
def visible(text: object) -> str:
    """An agent's text on one line, with its invisible characters named."""
    return reveal(str(text))


@register.filter
def content(edited_json: str) -> str:
    """An edit as a person reads it: a text as it is, an object one member a line."""
    value = read(edited_json)
    return reveal(value if isinstance(value, str) else readable(edited_json))


@register.simple_tag(takes_context=True)
def moment(context: Context, value: datetime) -> SafeString:
    """`yesterday 11:42`, with the whole of it for machines and for those who point at it."""
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        value.isoformat(timespec="seconds"),
        moments.in_full(value),
        moments.moment(value, now=context["now"]),
    )
