"""Any request that our OpenAPI allows or forbids gets a documented answer (schemathesis)."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest
import schemathesis
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import CheckFunction
from schemathesis.specs.openapi import checks

from accounts.models import ApiKey
from database.uuids import uuid_or_none
from pages.characters.names import is_visible
from tests.stress.hostile.asking import examples
from tests.types import MakeDelivery
from wake.api.openapi import openapi
from wake.api.parsers import LARGEST
from wake.wsgi import application

pytestmark = pytest.mark.slow

CASES, FEWER_CASES = examples(300), examples(40)
OPERATIONS = ["deliver", "response", "responses"]
OTHERS = ["batch", "upload", "withdraw", "claim", "claim_status", "outcome", "receipt"]
DOCUMENTED: list[CheckFunction] = [
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
# A batch answers 200, and says of each delivery whether it was refused.
ANSWERS_EACH = {"batch"}
numbers = count()


@pytest.fixture(scope="module")
def schema() -> Any:
    schema = schemathesis.openapi.from_dict(openapi())
    schema.app = application
    return schema


@pytest.fixture
def pk(make_delivery: MakeDelivery, settings: Any) -> str:
    """Returns the id of a delivery on a server without limits."""
    settings.WAKE_QUOTA_LIVE = (3_600_000, 1_000_000)
    settings.WAKE_READS_PER_MINUTE = 1_000_000
    return str(make_delivery().pk)


@pytest.mark.parametrize("mode", GenerationMode)
@pytest.mark.parametrize("operation", OPERATIONS)
@settings(max_examples=CASES)
@given(data=st.data())
def test_every_answer_is_documented(
    key: ApiKey, pk: str, schema: Any, mode: GenerationMode, operation: str, data: Any
) -> None:
    judge(schema, operation, mode, key=key, pk=pk, data=data)


@pytest.mark.parametrize("mode", GenerationMode)
@pytest.mark.parametrize("operation", OTHERS)
@settings(max_examples=FEWER_CASES)
@given(data=st.data())
def test_every_answer_of_an_extension_is_documented(
    key: ApiKey, pk: str, schema: Any, mode: GenerationMode, operation: str, data: Any
) -> None:
    judge(schema, operation, mode, key=key, pk=pk, data=data)


def judge(
    schema: Any, operation: str, mode: GenerationMode, *, key: ApiKey, pk: str, data: Any
) -> None:
    """Sends a generated request. A request that fits the document must be accepted, any other must
    be refused, and every answer must fit the document."""
    documented = schema.find_operation_by_id(operation)
    case: Case[Any] = data.draw(documented.as_strategy(mode))
    if case.query.get("wait") in list(range(1, 26)):
        del case.query["wait"]  # a granted long poll would only wait
    for name in [name for name in case.headers if name.lower() == "host"]:
        del case.headers[name]  # the server refuses another server's name before the API
    if uuid_or_none(str(case.path_parameters.get("delivery_id"))):
        case.path_parameters["delivery_id"] = data.draw(
            st.sampled_from([pk, *case.path_parameters.values()])
        )
    if mode == GenerationMode.POSITIVE:
        _fit(case, key)

    answer = case.call(
        base_url="https://127.0.0.1",
        headers={"Authorization": f"Bearer {key.text}"},  # type: ignore[attr-defined]
    )

    assert answer.status_code < 500, answer.text
    agrees = [checks.positive_data_acceptance]
    if mode == GenerationMode.NEGATIVE:
        is_ignored = (
            operation in ANSWERS_EACH
            or _has_unknown_names(case, documented)
            or _has_large_float(case.body)
        )
        agrees = [] if is_ignored else [checks.negative_data_rejection]
    case.validate_response(answer, checks=[*DOCUMENTED, *agrees])


def _has_unknown_names(case: Case[Any], documented: Any) -> bool:
    """Returns whether the query or the headers have names that the document does not have. The
    server ignores such names, as web servers do."""
    known = {each.name for kind in (documented.query, documented.headers) for each in kind}
    return not set(case.query).union(case.headers) <= known


def _has_large_float(value: Any) -> bool:
    """Returns whether the JSON has a number like 1e300. The server stores such a number. The
    OpenAPI document forbids such a number, because a schema cannot distinguish it from a whole
    number beyond 64 bits."""
    match value:
        case float():
            return abs(value) > LARGEST
        case dict():
            return any(map(_has_large_float, value.values()))
        case list():
            return any(map(_has_large_float, value))
    return False


def _fit(case: Case[Any], key: ApiKey) -> None:
    """Changes what a schema cannot say: the own id of the agent, a host that the team allows, an
    earlier delivery, a picture, a new Idempotency-Key, texts that people can see, and the spelling
    of a whole number (docs/protocol.md: `60.0` is not an integer)."""
    assume(case.media_type != "image/png")
    if "Idempotency-Key" in case.headers:
        case.headers["Idempotency-Key"] = str(next(numbers))
    body: dict[str, Any] = case.body if isinstance(case.body, dict) else {}
    for item in [body, *body.get("deliveries", ())]:
        for name in ("callback_webhook", "supersedes", "idempotency_key"):
            item.pop(name, None)
        if "agent_id" in item:
            item["agent_id"] = key.agent.agent_id
        for name, value in item.items():
            if isinstance(value, float) and value.is_integer():
                item[name] = int(value)
            assume(not isinstance(value, str) or name == "details" or is_visible(value))
