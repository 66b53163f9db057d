"""Removes U+0000 from queries and cookies. PostgreSQL cannot store it, and no one types it."""

from __future__ import annotations

from django.http import HttpRequest, QueryDict
from django.utils.deprecation import MiddlewareMixin

from wake.server.http.middleware import BrowserOnly

NULL = "\0"


class BrowserText(BrowserOnly, MiddlewareMixin):
    """Removes U+0000 before other code reads the texts. Form fields refuse it themselves, with a
    message."""

    def process_request(self, request: HttpRequest) -> None:
        request.GET = _without_null(request.GET)  # type: ignore[assignment]  # immutable, too
        for name, value in request.COOKIES.items():
            request.COOKIES[name] = value.replace(NULL, "")


def _without_null(data: QueryDict) -> QueryDict:
    if not any(NULL in text for name, texts in data.lists() for text in (name, *texts)):
        return data
    clean = QueryDict(mutable=True, encoding=data.encoding)
    for name, texts in data.lists():
        for text in texts:
            clean.appendlist(name.replace(NULL, ""), text.replace(NULL, ""))
    clean._mutable = False
    return clean
