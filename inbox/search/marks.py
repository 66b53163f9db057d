"""Marks the words of a text that a search looked for."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from inbox.search.query_language import Term
from inbox.search.words import normalised

WORD = re.compile(r"[^\W_]+")


def marked(text: str, terms: Sequence[Term]) -> SafeString:
    """Returns the text as HTML, with `<mark>` around the words that match a wanted term. Words with
    nothing but space between them have one mark, because a page removes space between tags."""
    wanted = [term for term in terms if not term.is_unwanted]
    words = {word for term in wanted for word in term.words}
    prefixes = tuple(term.words[0] for term in wanted if term.words and not term.is_exact)
    spans: list[tuple[int, int]] = []
    for match in WORD.finditer(text):
        if not _matches(match[0], words, prefixes):
            continue
        is_next = spans and text[spans[-1][1] : match.start()].isspace()
        start = spans.pop()[0] if is_next else match.start()
        spans.append((start, match.end()))
    return format_html_join("", "{}", ((part,) for part in _parts(text, spans)))


def _matches(word: str, words: set[str], prefixes: tuple[str, ...]) -> bool:
    return any(form in words or form.startswith(prefixes) for form in normalised(word))


def _parts(text: str, spans: Sequence[tuple[int, int]]) -> Iterator[str]:
    end = 0
    for start, stop in spans:
        yield text[end:start]
        yield format_html("<mark>{}</mark>", text[start:stop])
        end = stop
    yield text[end:]
