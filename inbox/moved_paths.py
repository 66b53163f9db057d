"""Redirects the old paths of pages that have moved."""

from __future__ import annotations

from urllib.parse import quote

from django.http import HttpRequest, HttpResponsePermanentRedirect
from django.urls import re_path

AGENT = r"(?P<agent>[0-9a-f-]{36})"
DELIVERY = r"(?P<delivery>[0-9a-f-]{36})"
MOVED = {
    r"webhooks/(?P<rest>.*)": "/callbacks/{rest}",
    r"leaving/(?P<rest>)": "/closing-soon/",
    r"assumed/(?P<rest>)": "/missed-deadlines/",
    r"later/(?P<rest>(?:choices)?)": "/snoozed/{rest}",
    r"later/put-off(?P<rest>)": "/snoozed/add",
    r"help/keys(?P<rest>)": "/help/keyboard-shortcuts",
    r"settings/keys/(?P<rest>)": "/settings/keyboard-shortcuts/",
    r"settings/phrases/(?P<rest>.*)": "/settings/saved-replies/{rest}",
    rf"deliveries/{DELIVERY}/phrases": "/deliveries/{delivery}/saved-replies",
    rf"deliveries/{DELIVERY}/later(?P<rest>(?:/undo)?)": "/deliveries/{delivery}/snooze{rest}",
    rf"agents/{AGENT}/record/(?P<rest>.*)": "/agents/{agent}/statistics/{rest}",
    rf"agents/{AGENT}/rehearsal/": "/agents/{agent}/test-callback/",
    rf"agents/{AGENT}/claims/(?P<rest>.*)": "/agents/{agent}/aliases/{rest}",
}


def redirect_to_new_path(
    request: HttpRequest, to: str, **parts: str | None
) -> HttpResponsePermanentRedirect:
    """Keeps the query and, for a form, the method and body (308)."""
    path = to.format(**{name: quote(part or "") for name, part in parts.items()})
    query = request.META.get("QUERY_STRING", "")
    return HttpResponsePermanentRedirect(
        f"{path}?{query}" if query else path,
        preserve_request=request.method not in {"GET", "HEAD"},
    )


urlpatterns = [
    re_path(rf"^{old}$", redirect_to_new_path, {"to": new}) for old, new in MOVED.items()
]
