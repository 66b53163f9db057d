"""The old paths of pages redirect permanently to the new ones."""

from __future__ import annotations

import pytest
from django.urls import resolve

from accounts.models import User
from tests.fixtures.strict_client import Client
from tests.types import SignedIn

PK = "7f0c2d1e-5a3b-4c8d-9e6f-1a2b3c4d5e6f"
MOVED = {
    "/webhooks/": "/callbacks/",
    f"/webhooks/{PK}/": f"/callbacks/{PK}/",
    f"/webhooks/{PK}/replay": f"/callbacks/{PK}/replay",
    "/leaving/": "/closing-soon/",
    "/assumed/": "/missed-deadlines/",
    "/later/": "/snoozed/",
    "/later/choices": "/snoozed/choices",
    "/later/put-off": "/snoozed/add",
    "/help/keys": "/help/keyboard-shortcuts",
    "/settings/keys/": "/settings/keyboard-shortcuts/",
    "/settings/phrases/": "/settings/saved-replies/",
    f"/settings/phrases/{PK}/remove": f"/settings/saved-replies/{PK}/remove",
    f"/deliveries/{PK}/phrases": f"/deliveries/{PK}/saved-replies",
    f"/deliveries/{PK}/later": f"/deliveries/{PK}/snooze",
    f"/deliveries/{PK}/later/undo": f"/deliveries/{PK}/snooze/undo",
    f"/agents/{PK}/record/": f"/agents/{PK}/statistics/",
    f"/agents/{PK}/record/export.csv": f"/agents/{PK}/statistics/export.csv",
    f"/agents/{PK}/rehearsal/": f"/agents/{PK}/test-callback/",
    f"/agents/{PK}/claims/7/remove": f"/agents/{PK}/aliases/7/remove",
}


@pytest.mark.parametrize(("old", "new"), MOVED.items())
def test_an_old_path_redirects_permanently_and_keeps_its_query(
    old: str, new: str, client: Client
) -> None:
    answer = client.get(f"{old}?before=7&team=garden")

    assert answer.status_code == 301
    assert answer["Location"] == f"{new}?before=7&team=garden"
    assert resolve(new).url_name


def test_a_form_that_was_open_during_an_upgrade_keeps_its_method(
    alice: User, signed_in: SignedIn
) -> None:
    answer = signed_in(alice).post("/later/put-off", {"choice": "hour"}, by_hand=True)

    assert answer.status_code == 308
    assert answer["Location"] == "/snoozed/add"


def test_an_old_path_leads_to_no_other_server(client: Client) -> None:
    answer = client.get("/webhooks//elsewhere.example/%3Fa=b")

    assert answer["Location"] == "/callbacks//elsewhere.example/%3Fa%3Db"
