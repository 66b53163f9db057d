""" "OpenAPI 3.1; JSON Schema of delivery and response" (docs/protocol.md, Endpoints): both are
valid,
and real answers fit them."""

from __future__ import annotations

from typing import Any

import pytest
from django.utils import timezone
from jsonschema import Draft202012Validator  # type: ignore[import-untyped]
from openapi_spec_validator import OpenAPIV31SpecValidator, validate

from accounts.models import Agent
from tests.fixtures.agent_client import AgentClient
from tests.fixtures.strict_client import Client
from tests.types import Answer


@pytest.fixture
def openapi(db: None) -> dict[str, Any]:
    document: dict[str, Any] = Client().get("/wake/v1/openapi.json").json()
    return document


def fits(openapi: dict[str, Any], path: str, method: str, answer: Any) -> None:
    """Checks that the body fits what the document says of this path, method and status code."""
    responses = openapi["paths"][path][method]["responses"]
    media = responses[str(answer.status_code)]["content"]["application/json"]["schema"]
    schema = {**media, "components": openapi["components"]}
    Draft202012Validator(schema, format_checker=Draft202012Validator.FORMAT_CHECKER).validate(
        answer.json()
    )


def test_the_openapi_document_is_valid_3_1(openapi: dict[str, Any]) -> None:
    assert openapi["openapi"].startswith("3.1")
    validate(openapi, cls=OpenAPIV31SpecValidator)


def test_it_describes_the_endpoints_once_each(openapi: dict[str, Any]) -> None:
    methods = {path: set(item) for path, item in openapi["paths"].items()}

    assert methods == {
        "/wake/v1": {"get"},
        "/wake/v1/deliver": {"post"},
        "/wake/v1/deliveries": {"post"},
        "/wake/v1/blobs": {"post"},
        "/wake/v1/response/{delivery_id}": {"get"},
        "/wake/v1/responses": {"get"},
        "/wake/v1/receipt/{delivery_id}": {"get"},
        "/wake/v1/withdraw/{delivery_id}": {"post"},
        "/wake/v1/claim/{delivery_id}": {"get", "post"},
        "/wake/v1/outcome/{delivery_id}": {"post"},
    }


def test_it_names_the_keys_of_each_endpoint(openapi: dict[str, Any]) -> None:
    keys = {
        f"{method} {path}": [scheme for one in operation.get("security", []) for scheme in one]
        for path, methods in openapi["paths"].items()
        for method, operation in methods.items()
    }

    for of_gates in ("claim/{delivery_id}", "receipt/{delivery_id}"):
        assert keys.pop(f"get /wake/v1/{of_gates}") == ["gate_or_key"]
    assert keys.pop("post /wake/v1/claim/{delivery_id}") == ["gate_or_key"]
    assert keys.pop("get /wake/v1") == []
    assert {name for name, schemes in keys.items() if schemes != ["key"]} == set()


def test_it_describes_every_status_code_of_the_table(openapi: dict[str, Any]) -> None:
    def codes(path: str, method: str) -> set[str]:
        return set(openapi["paths"][path][method]["responses"])

    before_the_key = {"400", "403", "405", "408", "413", "500"}
    always = before_the_key | {"401", "421", "429", "503"}
    assert codes("/wake/v1", "get") == before_the_key | {"200"}
    assert codes("/wake/v1/deliver", "post") == always | {"201", "422"}
    assert codes("/wake/v1/blobs", "post") == always | {"201", "415", "422"}
    assert codes("/wake/v1/response/{delivery_id}", "get") == always | {"200", "404", "422"}
    assert codes("/wake/v1/responses", "get") == always | {"200", "422"}


def test_real_receipts_match_the_schema(openapi: dict[str, Any], caller: AgentClient) -> None:
    def fit(answer: Any, code: int) -> None:
        assert answer.status_code == code
        fits(openapi, "/wake/v1/deliver", "post", answer)

    fit(caller.post(caller.payload()), 201)
    fit(caller.post(b"{"), 400)
    fit(caller.post(caller.payload(headline=None)), 400)
    fit(caller.post(caller.payload(agent_id="somebody-else")), 403)
    fit(caller.post(caller.payload(details="x" * 300_000)), 413)
    fit(caller.post(caller.payload(details=17)), 422)
    fit(Client().post("/wake/v1/deliver"), 401)
    Agent.objects.update(paused_at=timezone.now())
    fit(caller.post(caller.payload()), 403)


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (None, {}),
        ("approved", {}),
        ("rejected", {"feedback": "No."}),
        ("redirected", {"edited_json": '{"a": [1, null]}', "feedback": "So."}),
        ("redirected", {"edited_json": '"text"'}),
    ],
)
@pytest.mark.parametrize("timeout_seconds", [None, 3600])
def test_real_answers_match_the_schema(
    openapi: dict[str, Any],
    caller: AgentClient,
    answer: Answer,
    status: str | None,
    words: dict[str, str],
    timeout_seconds: int | None,
) -> None:
    pk = caller.deliver(timeout_seconds=timeout_seconds)
    if status:
        answer(pk, status, **words)

    fits(openapi, "/wake/v1/response/{delivery_id}", "get", caller.get(f"response/{pk}"))
    fits(openapi, "/wake/v1/responses", "get", caller.get("responses"))


def test_real_read_errors_match_the_schema(
    openapi: dict[str, Any], caller: AgentClient, settings: Any
) -> None:
    single, bulk = "/wake/v1/response/{delivery_id}", "/wake/v1/responses"

    fits(openapi, bulk, "get", caller.get("responses", since="9999-01-01T00:00:00Z"))
    fits(openapi, bulk, "get", caller.get("responses", limit="x"))
    fits(openapi, bulk, "get", Client().get("/wake/v1/responses"))
    fits(openapi, single, "get", caller.get("response/17"))
    fits(openapi, single, "get", caller.get("response/17", wait="x"))
    settings.WAKE_READS_PER_MINUTE = 0
    fits(openapi, single, "get", caller.get("response/17"))
    fits(openapi, bulk, "get", caller.get("responses"))
    settings.DEVELOPMENT = False
    fits(openapi, single, "get", caller.get("response/17"))
    fits(openapi, bulk, "get", caller.get("responses"))


def test_the_request_schema_accepts_what_the_server_accepts(
    openapi: dict[str, Any], caller: AgentClient
) -> None:
    """Tries one payload of each kind. A payload is valid by the document exactly if the server
    answers 201."""
    schema = {
        "$ref": "#/components/schemas/DeliveryPayload",
        "components": openapi["components"],
    }
    validator = Draft202012Validator(schema)
    changes: list[dict[str, Any]] = [
        {},
        {"details": {"a": 1}},
        {"details": "text"},
        {"details": None},
        {"details": 17},
        {"details": []},
        {"headline": "x" * 120},
        {"headline": "x" * 121},
        {"headline": ""},
        {"headline": None},
        {"summary": "x" * 281},
        {"provider": "x" * 129},
        {"agent_id": 17},
        {"type": "poem"},
        {"timeout_seconds": 60},
        {"timeout_seconds": 59},
        {"timeout_seconds": 604_801},
        {"timeout_seconds": "60"},
        {"timeout_seconds": None},
        {"callback_webhook": None},
        {"callback_webhook": 17},
        {"assumption": "I go on."},
        {"assumption": None},
        {"on_timeout": "hold"},
        {"on_timeout": "explode"},
        {"on_timeout": None},
        {"anything": {"else": 1}},
        {"headline": "a\0b"},
        {"assumption": "a\0b"},
        {"details": "a\0b"},
        {"details": {"a": ["b", {"c": "a\0b"}]}},
        {"details": {"a\0b": 1}},
        {"details": {"a": 2**63 - 1, "b": [True, None, 0.5]}},
        {"details": {"a": 2**63}},
        {"anything": "a\0b"},
        {"anything\0": 1},
        {"anything": [-(2**70)]},
    ]

    for change in changes:
        body = caller.payload(**change)
        accepted = caller.post(body).status_code == 201
        assert validator.is_valid(body) == accepted, change


@pytest.mark.parametrize(
    ("status", "is_valid"),
    [
        ("pending", True),
        ("pending,approved", True),
        (" pending , rejected", True),
        ("pending,pending", True),
        ("", False),
        ("pending,", False),
        (",pending", False),
        ("pending,,approved", False),
        ("expired", False),
    ],
)
def test_the_schema_of_the_statuses_accepts_what_the_server_accepts(
    openapi: dict[str, Any], caller: AgentClient, status: str, is_valid: bool
) -> None:
    parameters = openapi["paths"]["/wake/v1/responses"]["get"]["parameters"]
    [schema] = [each["schema"] for each in parameters if each["name"] == "status"]

    assert Draft202012Validator(schema).is_valid(status) == is_valid
    assert (caller.get("responses", status=status).status_code == 200) == is_valid


def test_the_json_schema_is_valid_and_matches_real_deliveries(
    caller: AgentClient, answer: Answer
) -> None:
    """ "JSON Schema of delivery and response" """
    document = Client().get("/wake/v1/schema.json").json()
    Draft202012Validator.check_schema(document)

    def valid(name: str, message: Any) -> bool:
        schema = {**document, "$ref": f"#/$defs/{name}"}
        return bool(Draft202012Validator(schema).is_valid(message))

    receipt = caller.post(caller.payload(quorum=2)).json()
    assert valid("delivery", caller.payload(more={"a": [1]}))
    assert not valid("delivery", caller.payload(more="a\0b"))
    assert not valid("delivery", {})
    assert valid("receipt", receipt)
    assert valid("response", caller.poll(receipt["delivery_id"]))
    answer(receipt["delivery_id"], "redirected", edited_json='{"a": 1}')
    assert valid("response", caller.poll(receipt["delivery_id"]))
    assert not valid("response", {**caller.poll(receipt["delivery_id"]), "status": "done"})


def test_the_capabilities(caller: AgentClient, settings: Any) -> None:
    """ "capabilities: `{protocol: "1.0", extensions: [...], limits: {...}}`" """
    body = Client().get("/wake/v1").json()

    assert set(body) == {"protocol", "extensions", "limits"}
    assert body["protocol"] == "1.0"
    assert {"idempotency", "wait"} <= set(body["extensions"])
    assert body["limits"]["body_bytes"] == 262_144
    assert body["limits"]["deliveries"]["test"] == {"per_hour": 20, "burst": 5}
    assert body["limits"]["deliveries"]["live"] == {"per_hour": 500, "burst": 50}
    assert body["limits"]["responses_limit"] == 200
    settings.WAKE_QUOTA_TEST = (7, 3)
    assert Client().get("/wake/v1").json()["limits"]["deliveries"]["test"] == {
        "per_hour": 7,
        "burst": 3,
    }
