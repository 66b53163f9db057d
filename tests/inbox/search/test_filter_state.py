"""A person who filters the inbox and opens a delivery returns to the filtered list."""

from __future__ import annotations

import re
from html import unescape

import pytest

from tests.inbox.person import Person
from tests.types import MakeDelivery
from wake.models import Delivery, Response

FILTER = "q=agent%3Aresearch-agent-01&type=output"
HIDDEN = re.compile(r'<input type="hidden" name="back" value="([^"]*)">')


@pytest.fixture
def delivery(make_delivery: MakeDelivery) -> Delivery:
    make_delivery(headline="The one before", type="output")
    return make_delivery(type="output", details_json='{"title": "One"}')


def links_of(page: str, delivery: Delivery) -> list[str]:
    return [
        unescape(link) for link in re.findall(rf'href="(/deliveries/{delivery.pk}/[^"]*)"', page)
    ]


def back_of(page: str) -> str:
    return unescape(HIDDEN.findall(page)[-1])


def test_every_link_of_a_row_and_the_page_behind_it_keep_the_filter(
    alices: Person, delivery: Delivery
) -> None:
    (link,) = set(links_of(alices.client.get(f"/?{FILTER}").content.decode(), delivery))

    page = alices.client.get(link).content.decode()

    assert set(HIDDEN.findall(page)) == {FILTER.replace("&", "&amp;")}
    assert f'href="/?{FILTER.replace("&", "&amp;")}"' in page
    assert re.search(r'href="/deliveries/[^"]+\?back=[^"]+" rel="(next|prev)"', page)


@pytest.mark.parametrize(
    ("action", "fields", "expected"),
    [
        ("response", {"status": "approved"}, f"/?{FILTER}&answered="),
        ("snooze", {"choice": "hour"}, f"/?{FILTER}"),
        ("reading", {}, f"/?{FILTER}"),
    ],
)
def test_actions_on_the_page_return_to_the_filter(
    alices: Person, delivery: Delivery, action: str, fields: dict[str, str], expected: str
) -> None:
    page = alices.see(delivery, back=FILTER).content.decode()

    answer = alices.post(
        delivery, action, **fields, content_hash=delivery.content_hash, back=back_of(page)
    )

    assert answer.status_code == 303
    assert answer["Location"].startswith(expected)


def test_an_invalid_edit_keeps_the_filter_too(alices: Person, delivery: Delivery) -> None:
    editor = alices.post(delivery, "edit", back=FILTER).content.decode()
    edit = {
        "status": "redirected",
        "edited_as": "json",
        "edited_content": "{",
        "content_hash": delivery.content_hash,
    }

    wrong = alices.post(delivery, "response", **edit, back=back_of(editor))
    edit["edited_content"] = '{"title": "Two"}'
    sent = alices.post(delivery, "response", **edit, back=back_of(wrong.content.decode()))

    assert wrong.status_code == 422
    assert sent["Location"].startswith(f"/?{FILTER}&answered=")
    assert Response.objects.get().edited_content == {"title": "Two"}


def test_without_a_filter_nothing_is_carried(alices: Person, delivery: Delivery) -> None:
    inbox = alices.client.get("/").content.decode()

    assert set(links_of(inbox, delivery)) == {f"/deliveries/{delivery.pk}/"}
    assert 'name="back"' not in alices.see(delivery).content.decode()
