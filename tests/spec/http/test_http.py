"""Every path under /wake/ has the same rules: JSON, no redirect, no plain http (docs/protocol.md,
Endpoints and Plain HTTP)."""

from __future__ import annotations

import json
import uuid
from typing import Any

import pytest

from tests.fixtures import wrapped
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.strict_client import Client
from tests.spec.http.test_errors import error_of
from wake.api import urls as api_urls
from wake.api import views
from wake.api.views import PublicView
from wake.mcp import urls as mcp_urls
from wake.models import Delivery, Response

PUBLIC = ["/wake/v1", "/wake/v1/openapi.json", "/wake/v1/schema.json"]


@pytest.mark.parametrize("path", PUBLIC)
@pytest.mark.parametrize("slash", ["", "/"])
def test_public_endpoints_need_no_key(db: None, path: str, slash: str) -> None:
    answer = Client().get(path + slash)

    assert answer.status_code == 200
    assert answer["Content-Type"] == "application/json"
    assert isinstance(answer.json(), dict)


def _addresses() -> list[tuple[str, str]]:
    """Returns every method and address of the agent API that is not public."""
    methods = []
    for pattern in [*api_urls.urlpatterns, *mcp_urls.urlpatterns]:
        view: Any = getattr(pattern.callback, "view_class", None)
        path = "/" + str(pattern.pattern).replace("<str:delivery_id>", str(uuid.uuid4()))
        if view and not issubclass(view, PublicView):
            methods += [(name, path) for name in view.http_method_names if hasattr(view, name)]
    return methods


def test_every_other_endpoint_requires_a_key(db: None) -> None:
    """Nothing protects a hot view by default (docs/decisions/0028)."""
    addresses = _addresses()
    answers = {
        (method, path): Client().generic(method.upper(), path).status_code
        for method, path in addresses
    }

    assert len(addresses) >= 10
    assert set(answers.values()) == {401}, answers


def test_with_and_without_a_trailing_slash_never_by_redirect(caller: AgentClient, key: Any) -> None:
    """ "With and without a trailing slash, never by redirect." """
    pk = caller.deliver()
    posted = caller.client.post(
        "/wake/v1/deliver/",
        caller.payload(),
        content_type="application/json",
        headers=caller.headers,
    )

    assert posted.status_code == 201
    for path in ["responses", f"response/{pk}"]:
        plain, slash = caller.get(path), caller.get(f"{path}/")
        assert plain.status_code == slash.status_code == 200
        assert plain.content == slash.content


def test_a_201_has_the_location_of_its_response(caller: AgentClient) -> None:
    """RFC 9110, 15.3.2: the address of what was created; `Location` was missing."""
    first, again = [caller.post(caller.payload(), **{"Idempotency-Key": "once"}) for _ in range(2)]

    answer = caller.client.get(first["Location"], headers=caller.headers)

    assert first["Location"] == again["Location"]
    assert answer.json()["delivery_id"] == first.json()["delivery_id"]


@pytest.mark.parametrize(
    "path",
    [
        "/wake/",
        "/wake",
        "/wake/v2/deliver",
        "/wake/v1/deliver/more",
        "/wake/v1/response",
        "/wake/v1/response/",
        "/wake/v1/response/a/b",
        "/wake/v1//deliver",
        "/wake/V1/deliver",
        "/wake/%0a",
        "/wake/%00",
        "/wake/v1/deliver%0a",
        "/wake/%ff%fe",
        "/wake/../admin/",
        "/wake/v1/" + "x" * 5000,
    ],
)
@pytest.mark.parametrize("method", ["GET", "POST", "HEAD", "DELETE"])
def test_404_is_json_everywhere_under_wake(db: None, path: str, method: str) -> None:
    """ "Everything under `/wake/` answers JSON, also 404" """
    answer = Client(raise_request_exception=False).generic(method, path)

    assert answer.status_code == 404
    assert answer["Content-Type"] == "application/json"
    if method != "HEAD":
        error_of(answer, 404, "not_found")


@pytest.mark.parametrize("path", ["deliver", "responses", f"response/{uuid.UUID(int=7)}", ""])
def test_the_prefix_twice_gets_a_hint(db: None, settings: Any, path: str) -> None:
    """ "A path with the prefix twice (`/wake/v1/wake/v1/...`, the commonest set-up slip) ... gets a
    404 whose message says exactly that." """
    settings.WAKE_ORIGIN = "https://wake.example.com"

    error = error_of(Client().post(f"/wake/v1/wake/v1/{path}"), 404, "not_found")

    assert "/wake/v1 twice" in error["message"]
    assert "https://wake.example.com" in error["message"]


@pytest.mark.parametrize("path", ["responses", "deliver", "", "openapi.json"])
def test_head_is_not_allowed(caller: AgentClient, path: str) -> None:
    answer = caller.client.head(f"/wake/v1/{path}", headers=caller.headers)

    assert answer.status_code == 405


def test_head_does_not_pick_an_answer_up(caller: AgentClient, answer: Any) -> None:
    """ "Picked up is a GET that carried it" - a HEAD carries nothing."""
    pk = caller.deliver()
    answer(pk)

    caller.client.head(f"/wake/v1/response/{pk}", headers=caller.headers)
    caller.client.head("/wake/v1/responses", headers=caller.headers)

    response = Response.objects.get()
    assert response.sent_at is None
    assert response.picked_up_at is None


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "multipart/form-data",
        "text/plain; charset=utf-16",
        "",
        "nonsense",
        "application/xml",
    ],
)
def test_json_is_parsed_with_any_content_type(caller: AgentClient, content_type: str) -> None:
    """ "JSON is parsed whatever the Content-Type says (`curl -d` sends a form type)." """
    answer = caller.client.generic(
        "POST",
        "/wake/v1/deliver",
        json.dumps(caller.payload(headline="Grüße 🎉")).encode(),
        content_type=content_type,
        headers=caller.headers,
    )

    assert answer.status_code == 201, answer.content
    assert Delivery.objects.get().headline == "Grüße 🎉"


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "nonsense", "*/*;q=0"])
def test_json_is_the_only_format(caller: AgentClient, accept: str) -> None:
    for query in ["", "?format=html", "?format=api"]:
        answer = caller.client.get(
            f"/wake/v1/responses{query}", headers={**caller.headers, "Accept": accept}
        )

        assert answer.status_code == 200
        assert answer["Content-Type"] == "application/json"


def test_no_answer_may_be_cached(caller: AgentClient) -> None:
    pk = caller.deliver()

    for path in ["responses", f"response/{pk}", "response/17", "nowhere"]:
        assert caller.get(path)["Cache-Control"] == "no-store"


def test_a_500_is_json_without_details(caller: AgentClient) -> None:
    """ "Everything under `/wake/` answers JSON, also ... 500." """

    with wrapped.failing(views, "deliver", RuntimeError("the secret cause")):
        answer = caller.post(caller.payload())

    error_of(answer, 500, "server_error")
    assert b"secret cause" not in answer.content


def test_an_unknown_host_gets_json(caller: AgentClient) -> None:
    answer = caller.client.get(
        "/wake/v1/responses", headers={**caller.headers, "Host": "evil.example"}
    )

    assert answer["Content-Type"] == "application/json"


@pytest.mark.parametrize("path", ["/wake/v1", "/wake/v1/responses", "/wake/nowhere", "/wake"])
def test_plain_http_is_refused_and_not_redirected(
    caller: AgentClient, settings: Any, path: str
) -> None:
    """ "`/wake/` over http is refused with 403 `https_required`, not redirected" """
    settings.DEVELOPMENT = False

    answer = caller.client.get(path, headers=caller.headers)

    error_of(answer, 403, "https_required")
    assert not answer.has_header("Location")


def test_plain_http_is_refused_in_development_from_another_machine(caller: AgentClient) -> None:
    """ "except on loopback in development" """
    answer = caller.client.post(
        "/wake/v1/deliver",
        caller.payload(),
        content_type="application/json",
        headers=caller.headers,
        REMOTE_ADDR="192.168.1.17",
    )

    error_of(answer, 403, "https_required")
    assert not Delivery.objects.exists()


def test_https_is_accepted_in_production(caller: AgentClient, settings: Any) -> None:
    settings.DEVELOPMENT = False

    assert caller.client.get("/wake/v1/responses", headers=caller.headers, secure=True).json()


@pytest.mark.parametrize(
    "name", ["X-Forwarded-Proto", "X-Forwarded-Ssl", "Forwarded", "Front-End-Https"]
)
def test_no_header_makes_plain_http_secure(caller: AgentClient, settings: Any, name: str) -> None:
    """ "Behind a proxy only a configured `SECURE_PROXY_SSL_HEADER` is believed." """
    settings.DEVELOPMENT = False

    answer = caller.client.get("/wake/v1/responses", headers={**caller.headers, name: "https"})

    error_of(answer, 403, "https_required")


def test_the_configured_proxy_header_is_trusted(caller: AgentClient, settings: Any) -> None:
    settings.DEVELOPMENT = False
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")

    answer = caller.client.get(
        "/wake/v1/responses", headers={**caller.headers, "X-Forwarded-Proto": "https"}
    )

    assert answer.status_code == 200


@pytest.mark.parametrize("headers", [{}, {"Host": "evil.example"}])
def test_other_paths_answer_with_pages(db: None, headers: dict[str, str]) -> None:
    answer = Client().get("/nowhere/", headers=headers)

    assert answer.status_code == (400 if headers else 404)
    assert answer["Content-Type"].startswith("text/html")


def test_too_many_parameters_are_a_json_error(caller: AgentClient) -> None:
    answer = caller.client.get(f"/wake/v1/responses?{'a&' * 1500}", headers=caller.headers)

    error_of(answer, 400, "malformed")
