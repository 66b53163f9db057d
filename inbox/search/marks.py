"""Marks the searched words in a text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from inbox.models.words import normalised
from inbox.search.query_language import Term

WORD = re.compile(r"[^\W_]+")


def marked(text: str, terms: Sequence[Term]) -> SafeString:
    """Returns the text as HTML, with `<mark>` around the words that match a wanted term. Words
    separated only by space have one mark, because a page removes space between tags."""
    spans: list[tuple[int, int]] = []
    for match in _matches(text, terms):
        is_next = spans and text[spans[-1][1] : match.start()].isspace()
        start = spans.pop()[0] if is_next else match.start()
        spans.append((start, match.end()))
    return format_html_join("", "{}", ((part,) for part in _parts(text, spans)))


def first_match(text: str, terms: Sequence[Term]) -> int | None:
    """Returns the place of the first word that matches a wanted term, or None if there is none."""
    return next((match.start() for match in _matches(text, terms)), None)


def _matches(text: str, terms: Sequence[Term]) -> Iterator[re.Match[str]]:
    wanted = [term for term in terms if not term.is_unwanted]
    words = {word for term in wanted for word in term.words}
    prefixes = tuple(term.words[0] for term in wanted if term.words and not term.is_exact)
    for match in WORD.finditer(text):
        if any(form in words or form.startswith(prefixes) for form in normalised(match[0])):
            yield match


def _parts(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[str]:
    end = 0
    for start, stop in spans:
        yield text[end:start]
        yield format_html("<mark>{}</mark>", text[start:stop])
        end = stop
    yield text[end:]
