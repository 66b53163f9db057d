"""Shows why a search found a delivery, if headline and summary do not: the words of its details
around the first match."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from uuid import UUID

from django.conf import settings
from django.utils.safestring import SafeString

from database.encryption import Unreadable
from inbox.search.index import beginning_of, texts_in
from inbox.search.marks import first_match, marked
from inbox.search.query_language import Query
from pages.characters.invisible import reveal
from wake.models import Delivery

MAX_EXCERPTS = 20  # details may have 256 kB each
BEFORE, AFTER = 60, 120
# Markdown around the words: the lines of tables, headings and bold text.
MARKUP = re.compile(r"\s*\|(?:[\s|:-]*\|)?\s*|(?<!\S)#{1,6} |\*\*")


def excerpts_of(deliveries: Iterable[Delivery], query: Query) -> Mapping[UUID, SafeString]:
    """Returns an excerpt for each of the first deliveries that need one, with the words marked.
    Makes one query, or none if every row already shows a match or no word is wanted. Only indexed
    text is searched, and no encrypted details."""
    is_wanted = any(not term.is_unwanted for term in query.terms)
    if not is_wanted or settings.WAKE_ENCRYPT_CONTENT:
        return {}
    unexplained = [
        row.pk
        for row in deliveries
        if first_match(f"{row.headline} {row.summary}", query.terms) is None
    ]
    if not unexplained:
        return {}
    rows = Delivery.objects.filter(pk__in=unexplained[:MAX_EXCERPTS]).only("details_json")
    found = ((row.pk, _excerpt(row, query)) for row in rows)
    return {pk: excerpt for pk, excerpt in found if excerpt}


def _excerpt(row: Delivery, query: Query) -> SafeString | None:
    try:
        text = reveal(" ".join(" · ".join(beginning_of(texts_in(row.details_json))).split()))
    except Unreadable:
        return None
    place = first_match(text, query.terms)
    if place is None:
        return None
    begin, end = max(0, place - BEFORE), place + AFTER
    if begin:
        begin = text.find(" ", begin, place) + 1 or begin  # a text may have no blanks
    shown = text[begin:end]
    if end < len(text):
        shown = f"{shown.rpartition(' ')[0] or shown}…"
    shown = MARKUP.sub(lambda markup: " · " if "|" in markup[0] else "", shown)
    return marked(f"{'…' if begin else ''}{shown}", query.terms)
