"""Every form of a template can be posted, and only machines post without a token."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from django.template import Engine
from django.template.base import Node, Template
from django.template.defaulttags import CsrfTokenNode
from django.template.library import SimpleBlockNode
from django.template.loader_tags import IncludeNode
from django.urls import URLPattern, get_resolver
from rest_framework.authentication import SessionAuthentication

from tests.architecture.sources import PAGES, ROOT, name

pytestmark = pytest.mark.once

TOKEN = "csrf_token"
FORM = re.compile(r"<form\b(?P<start>[^>]*)>(?P<content>.*?)</form>", re.DOTALL | re.IGNORECASE)
# This page repeats the fields of the form that was sent, and the token is one of them.
SENDS_THE_SAME_AGAIN = "templates/500.html"
TEMPLATES = [str(page.relative_to(ROOT / "templates")) for page in PAGES]
# Machines call these, with a key or a signature. A browser's report of a broken rule needs neither
# a key nor a signature. No view among them asks for the session of a person.
OF_MACHINES = {
    "@<str:handle>/<str:name>",
    "connect/v1/agent",
    "connect/v1/poll",
    "csp-reports",
    "mcp",
    "mcp/people",
    "oauth/device",
    "oauth/register",
    "oauth/register/<str:client_id>",
    "oauth/revoke",
    "oauth/token",
    "scim/v2",
    "scim/v2/<path:path>",
    "slack/interactions",
    "wake/v1",
    "wake/v1/blobs",
    "wake/v1/claim/<str:delivery_id>",
    "wake/v1/deliver",
    "wake/v1/deliveries",
    "wake/v1/openapi.json",
    "wake/v1/outcome/<str:delivery_id>",
    "wake/v1/receipt/<str:delivery_id>",
    "wake/v1/response/<str:delivery_id>",
    "wake/v1/responses",
    "wake/v1/schema.json",
    "wake/v1/withdraw/<str:delivery_id>",
    "^wake(?:/.*)?$",
}


@cache
def template(path: str) -> Template:
    return Engine.get_default().get_template(path)


def nodes(path: str) -> list[Any]:
    return template(path).nodelist.get_nodes_by_type(Node)


def is_card_with_a_form(node: Any) -> bool:
    return isinstance(node, SimpleBlockNode) and "post" in node.kwargs


def included(node: IncludeNode) -> str | None:
    """Returns None for a template whose name only the view knows. That template may have a form."""
    path = node.template.var
    return path if isinstance(path, str) else None


@cache
def needs_token(path: str) -> bool:
    return any(
        isinstance(node, CsrfTokenNode)
        or is_card_with_a_form(node)
        or (isinstance(node, IncludeNode) and (not included(node) or needs_token(included(node))))
        for node in nodes(path)
    )


def left_without_token(path: str) -> Iterator[str]:
    for node in nodes(path):
        if isinstance(node, IncludeNode) and node.isolated_context:
            target = included(node)
            hands_on = node.extra_context.get(TOKEN)
            if (not target or needs_token(target)) and str(hands_on) != TOKEN:
                yield f"{path}: {target or node.template}"


def test_templates_with_forms_are_found() -> None:
    with_a_token = [path for path in TEMPLATES if needs_token(path)]

    assert len(with_a_token) > 70
    assert "inbox/list/_done.html" in with_a_token  # an included template has the token
    assert "accounts/sign_in/oidc/_security.html" in with_a_token  # an included card has the token


def test_every_form_that_posts_has_a_token_and_no_other_has_one() -> None:
    wrong = []
    for page in PAGES:
        for form in FORM.finditer(page.read_text()):
            posts = 'method="post"' in form["start"].lower() or "formmethod" in form["content"]
            has_token = "{% csrf_token %}" in form["content"]
            if posts != has_token and name(page) != SENDS_THE_SAME_AGAIN:
                wrong.append(f"{name(page)}: <form{form['start']}>")

    assert wrong == []


def test_every_include_that_hands_on_nothing_else_hands_on_the_token() -> None:
    """A template that is included with `only` gets the token only if the include passes it. Without
    the token, `csrf_token` writes nothing."""
    violations = [violation for path in TEMPLATES for violation in left_without_token(path)]

    assert violations == []


def patterns(resolver: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    for pattern in resolver.url_patterns:
        path = f"{before}{pattern.pattern}"
        if isinstance(pattern, URLPattern):
            yield path, pattern.callback
        else:
            yield from patterns(pattern, path)


def test_only_machines_post_without_a_token() -> None:
    without = {
        path.removesuffix("/"): view
        for path, view in patterns(get_resolver())
        if getattr(view, "csrf_exempt", False)
    }

    assert set(without) == OF_MACHINES
    for view in without.values():
        known_by = getattr(getattr(view, "cls", None), "authentication_classes", [])
        assert not [kind for kind in known_by if issubclass(kind, SessionAuthentication)]
