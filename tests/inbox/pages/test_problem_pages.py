"""Errors and missing pages have pages of their own."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from django.conf import settings
from django.db import OperationalError
from django.forms import BaseForm, Field, PasswordInput
from django.http import HttpRequest
from django.test import RequestFactory

from accounts.models import Team
from tests.inbox.person import Person, text_of
from wake.server.http.error_handlers import TEXT_FIELDS, bad_request, server_error


def test_a_missing_page_has_a_link_back(alices: Person) -> None:
    answer = alices.get("/nothing/here/")

    assert answer.status_code == 404
    assert "Page not found" in text_of(answer)
    assert "Sign out" in text_of(answer)


def test_a_missing_permission_is_explained(bobs: Person, team: Team) -> None:
    """The text fits any cause, because most causes have nothing to do with answers."""
    answer = bobs.get("/settings/members/garden/invite/")

    assert answer.status_code == 403
    assert "Only team owners can manage members" in text_of(answer)
    assert "A team owner can change your role." in text_of(answer)
    assert "take an answer back" not in text_of(answer)


def test_anonymous_visitors_get_a_page_too(client: Any, db: None) -> None:
    answer = client.get("/nothing/here/")

    assert answer.status_code == 404
    assert "Sign out" not in text_of(answer)


def test_the_error_page_does_not_use_the_database(django_assert_num_queries: Any, db: None) -> None:
    with django_assert_num_queries(0):
        answer = server_error(RequestFactory().get("/"))

    assert answer.status_code == 500
    assert "Something went wrong on our side" in text_of(answer)
    assert "<script" not in answer.content.decode()


def test_during_an_outage_a_reload_sends_the_form_again() -> None:
    answer = _while_away()

    assert answer.status_code == 503
    assert "Reload this page in a few seconds." in text_of(answer)


def test_a_bad_request_shows_a_page(rf: RequestFactory) -> None:
    answer = bad_request(rf.get("/"))

    assert answer.status_code == 400
    assert "This request cannot be read." in text_of(answer)


def test_an_expired_form_returns_the_typed_text_without_passwords() -> None:
    form = {"feedback": "<b>Why?", "status": "rejected", "csrfmiddlewaretoken": "t"}
    answer = _while_away(RequestFactory().post("/deliveries/x/response", form))
    sign_in = _while_away(RequestFactory().post("/login/", {"password": "correct horse"}))

    page = answer.content.decode()
    assert 'action="/deliveries/x/response"' in page
    assert "&lt;b&gt;Why?</textarea>" in page
    assert '<input type="hidden" name="status" value="rejected">' in page
    assert '<input type="hidden" name="csrfmiddlewaretoken" value="t">' in page
    assert "We couldn't confirm that your text was sent." in text_of(answer)
    assert "Send again" in text_of(answer)
    assert "<form" not in sign_in.content.decode()
    assert "correct horse" not in sign_in.content.decode()


@pytest.mark.parametrize(
    ("path", "fields", "label"),
    [
        ("/batch/answer", {"note": "Too long.", "id": "1", "answer-1": "rejected"}, "Your message"),
        ("/deliveries/x/comments", {"text": "Too long.", "id": "1"}, "Your text"),
        ("/settings/saved-replies/", {"text": "Too long.", "name": "Long"}, "Your text"),
    ],
)
def test_during_an_outage_a_note_and_a_comment_are_returned(
    path: str, fields: dict[str, str], label: str
) -> None:
    answer = _while_away(RequestFactory().post(path, fields))

    page = answer.content.decode()
    assert f'action="{path}"' in page
    assert f"{label} Too long. Send again" in text_of(answer)
    for name in fields.keys() - TEXT_FIELDS:
        assert f'<input type="hidden" name="{name}" value="{fields[name]}">' in page


def test_no_form_with_a_secret_has_a_field_that_the_error_page_returns() -> None:
    import_module(settings.ROOT_URLCONF)
    with_secrets = [form for form in _subclasses(BaseForm) if _takes_a_secret(form)]

    assert {"SignInForm", "CodeForm", "ConfirmPasswordForm", "PasswordForm"} <= {
        form.__name__ for form in with_secrets
    }
    assert [form for form in with_secrets if _fields_of(form).keys() & TEXT_FIELDS] == []


def test_a_form_that_cannot_be_read_does_not_fail_a_second_time() -> None:
    request = RequestFactory().post("/", b"x", content_type="multipart/form-data")

    assert _while_away(request).status_code == 503


def _while_away(request: HttpRequest | None = None) -> Any:
    """Runs as Django's handler does, while the exception is being handled."""
    try:
        _ask()
    except OperationalError:
        return server_error(request or RequestFactory().get("/"))


def _ask() -> None:
    raise OperationalError


def _subclasses(form: type[Any]) -> Iterator[type[Any]]:
    for each in form.__subclasses__():
        yield each
        yield from _subclasses(each)


def _fields_of(form: type[Any]) -> dict[str, Field]:
    return getattr(form, "base_fields", {})


def _takes_a_secret(form: type[Any]) -> bool:
    return any(
        isinstance(field.widget, PasswordInput) or "code" in name
        for name, field in _fields_of(form).items()
    )
