"""The client of the tests finds the forms that no browser could post."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.template import engines
from django.urls import path
from django.views.decorators.csrf import csrf_exempt

from tests.fixtures.strict_client import Client

pytestmark = [pytest.mark.once, pytest.mark.django_db, pytest.mark.urls(__name__)]


def page(template: str) -> Callable[..., HttpResponse]:
    """Returns a view that shows the template, and accepts every form."""

    def view(request: HttpRequest) -> HttpResponse:
        return HttpResponse(engines["django"].from_string(template).render({}, request))

    return view


FORM = '<form method="post" action="{}">{}<button>Send</button></form>'
TOKEN = "{% csrf_token %}"
urlpatterns = [
    path("login/", page(FORM.format("/login/", TOKEN))),
    path("", page(FORM.format("/thing/", TOKEN))),
    path("thing/", page('<button form="triage" formaction="/thing/undo">Undo</button>')),
    path("thing/remove", page("Removed")),
    path("thing/undo", page("Undone")),
    path("list/", page(f'<form id="triage" method="post">{TOKEN}</form>' + FORM.format("no", ""))),
    path(
        "batch/",
        page(f'<form method="post" id="a">{TOKEN}</form><button form="a" formaction="/send">'),
    ),
    path("send", page("Sent")),
    path("machine", csrf_exempt(page("Done"))),
]


def post(address: str, **options: Any) -> int:
    return Client().post(address, **options).status_code


def test_a_page_with_a_form_without_a_token_fails_the_test() -> None:
    with pytest.raises(AssertionError, match="A form on /list/ has no token"):
        Client().get("/list/")


def test_a_post_takes_the_token_of_the_form_on_a_page_above_it() -> None:
    assert post("/thing/") == 200


def test_a_post_takes_the_token_of_the_page_that_the_test_names() -> None:
    with pytest.raises(AssertionError, match="No page has a form for /send"):
        post("/send")

    assert post("/send", page="/batch/") == 200


def test_a_post_that_no_page_offers_is_sent_by_hand_only() -> None:
    with pytest.raises(AssertionError, match="No page has a form for /thing/remove"):
        post("/thing/remove")

    assert post("/thing/remove", by_hand=True) == 200


def test_a_button_whose_form_is_not_on_the_page_offers_nothing() -> None:
    with pytest.raises(AssertionError, match="No page has a form for /thing/undo"):
        post("/thing/undo")


def test_a_machine_needs_no_token() -> None:
    assert post("/machine") == 200
