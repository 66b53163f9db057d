"""Every page of the URLconf answers any content and any input without a 500."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.urls import URLPattern
from hypothesis import given, settings
from hypothesis import strategies as st

from accounts.models import ApiKey, User
from inbox.answering.editing import edits
from tests.fixtures.patterns import page_patterns
from tests.fixtures.strict_client import Client
from tests.stress.hostile.asking import ask, examples
from tests.stress.hostile.test_bodies import GOOD, NASTY, as_json, texts, values
from tests.types import MakeDelivery
from wake.models import Delivery

pytestmark = pytest.mark.slow

EXAMPLES = examples(40)
# Signing in and mail have tests and limits of their own.
ELSEWHERE = re.compile("log(in|out)|password|sign|reset|code|second|sessions")
PAGES: list[URLPattern] = [
    each for each in page_patterns() if each.name and not ELSEWHERE.search(each.name)
]
TEMPLATES = "".join(
    path.read_text()
    for app in ("accounts", "inbox", "pages", "relay")
    for path in Path("templates", app).rglob("*.html")
)
FIELDS = sorted({"q", "before", "details", *re.findall(r'\bname="(\w+)"', TEMPLATES)})
CHOICES = sorted(set(re.findall(r'\bvalue="([\w-]+)"', TEMPLATES)))

MARKUP = [
    "[x](javascript:alert(1))", "![", "|a|\n|-|\n|", "```html\n<script>", "<a href=//x>", "> " * 90,
    "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "--- \n+++ \n@@ -9,9 +0,0 @@", "# \u202e", "* " * 90,
    "[x](https://\u2100)", "[" * 500, "**" * 500, "https://x" + "/" * 900, "&#0;&#x110000;",
]  # fmt: skip
markup = st.lists(st.one_of(st.sampled_from(MARKUP), texts), max_size=5).map("\n".join)
BLOCKS = ["title", "text", "kind", "type", "id", "label", "items", "options", "fields", "value",
          "rows", "columns", "recommended", "language", "code", "url", "checked"]  # fmt: skip
block = st.dictionaries(
    st.sampled_from(BLOCKS),
    st.one_of(markup, values, st.sampled_from(["choice", "table", "code", "list", "form", "diff"])),
    max_size=6,
)
blocks = st.dictionaries(
    st.sampled_from(["wake_blocks", "blocks", "choice", "options", "version"]),
    st.one_of(st.lists(block, max_size=4), block, values),
    min_size=1,
)
details = st.one_of(markup, blocks, st.dictionaries(texts, values, max_size=4))
typed = st.one_of(
    st.sampled_from(CHOICES),
    st.sampled_from([text for text in NASTY if "\ud800" not in text and "\udfff" not in text]),
    st.text(st.characters(exclude_categories=["Cs"])),
)


@pytest.fixture
def alices(alice: User, settings: Any) -> Client:
    """Returns Alice's browser, which raises the exceptions of views."""
    settings.WAKE_QUOTA_LIVE = (3_600_000, 1_000_000)
    client = Client()
    client.force_login(alice)
    return client


@settings(max_examples=EXAMPLES)
@given(
    details,
    st.tuples(texts, texts, texts),
    st.sampled_from(["", "?details=raw", "?details=formatted"]),
)
def test_any_delivery_is_a_page_and_can_be_edited(
    key: ApiKey, alices: Client, details: Any, words: tuple[str, str, str], how: str
) -> None:
    headline, thread, assumption = words
    body = GOOD | {"details": details, "assumption": assumption}
    authorization = {"Authorization": f"Bearer {key.text}"}  # type: ignore[attr-defined]
    posted = [
        ask("POST", "/wake/v1/deliver", headers=authorization, body=as_json(each, escaped=True))
        for each in (body, GOOD | {"details": _cleaned(details)})
    ]
    for pk in (answer.json["delivery_id"] for answer in posted if answer.status == 201):
        delivery = Delivery.objects.get(pk=pk)
        for path in ("", "raw", "edit", how):
            assert alices.get(f"/deliveries/{pk}/{path}").status_code in {200, 404}
        edited = {
            "status": "redirected",
            "content_hash": delivery.content_hash,
            "edited_as": edits.Original.of(delivery).kind,
            "edited_content": headline.encode("utf-8", "replace").decode(),
            "feedback": thread.encode("utf-8", "replace").decode(),
        }

        answer = alices.post(f"/deliveries/{pk}/response", edited)

        assert answer.status_code in {303, 422}
        assert alices.get(f"/deliveries/{pk}/").status_code == 200


def _cleaned(value: Any) -> Any:
    """Returns the value without the parts for which every delivery is refused. So more deliveries
    are stored and shown on pages."""
    text = json.dumps(value, allow_nan=True)
    for refused in (r"\\u0000", r"\\u[dD][89a-fA-F]..", r"-?\d{18,}[.\deE+]*", "NaN", "-?Infinity"):
        text = re.sub(refused, "1" if "u" not in refused else "", text)
    try:
        return json.loads(text)
    except ValueError:
        return "nothing"


def _path(page: URLPattern, pk: str, data: Any) -> str:
    """Returns the path with an id that exists, with one that does not, or with a number or word in
    its place."""
    filled = str(page.pattern)
    for converter in re.findall(r"<[^>]+>", filled):
        if converter.startswith("<uuid"):
            agent = str(Delivery.objects.get(pk=pk).agent_id)
            ids = [pk, agent, "00000000-0000-0000-0000-000000000000"]
        elif converter.startswith("<int"):
            ids = ["1", "0", "9" * 30]
        else:
            ids = ["garden", "other", "x"]
        filled = filled.replace(converter, data.draw(st.sampled_from(ids)), 1)
    return f"/{filled}"


@pytest.fixture
def pk(make_delivery: MakeDelivery) -> str:
    return str(make_delivery(details_json='{"a": 1}').pk)


@settings(max_examples=EXAMPLES * 4)
@given(
    st.data(),
    st.sampled_from(PAGES),
    st.dictionaries(st.sampled_from(FIELDS), st.lists(typed, min_size=1, max_size=2), max_size=4),
)
def test_any_query_of_any_page(
    alices: Client, pk: str, data: Any, page: URLPattern, query: dict[str, list[str]]
) -> None:
    answer = alices.get(_path(page, pk, data), query)

    assert answer.status_code < 500
    assert isinstance(answer.getvalue(), bytes)  # an export fails only while it is read


@settings(max_examples=EXAMPLES * 4)
@given(
    st.data(),
    st.sampled_from(PAGES),
    st.dictionaries(st.sampled_from(FIELDS), st.lists(typed, min_size=1, max_size=2), max_size=8),
)
def test_any_form_to_any_page(
    alices: Client, pk: str, data: Any, page: URLPattern, form: dict[str, list[str]]
) -> None:
    if data.draw(st.booleans()):
        form["content_hash"] = [Delivery.objects.get(pk=pk).content_hash]

    answer = alices.post(_path(page, pk, data), form, by_hand=True)

    assert answer.status_code < 500
