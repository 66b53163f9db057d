"""Any request that our OpenAPI allows or forbids gets a documented answer (schemathesis)."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import CheckFunction
from schemathesis.specs.openapi import checks

from accounts.models import ApiKey
from tests.stress.hostile.asking import examples
from tests.types import MakeDelivery
from wake.api.openapi import openapi
from wake.wsgi import application

pytestmark = pytest.mark.slow

CASES = examples(300)
DOCUMENTED: list[CheckFunction] = [
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]


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
@pytest.mark.parametrize("operation", ["deliver", "response", "responses"])
@settings(max_examples=CASES)
@given(data=st.data())
def test_every_answer_is_documented(
    key: ApiKey,
    pk: str,
    schema: Any,
    mode: GenerationMode,
    operation: str,
    data: Any,
) -> None:
    documented = schema.find_operation_by_id(operation)
    case: Case[Any] = data.draw(documented.as_strategy(mode))
    case.query.pop("wait", None)  # a granted long poll would only wait
    for name in [name for name in case.headers if name.lower() == "host"]:
        del case.headers[name]  # the server refuses another server's name before the API
    if operation == "response":
        case.path_parameters["delivery_id"] = data.draw(
            st.sampled_from([pk, *case.path_parameters.values()])
        )
    if isinstance(case.body, dict) and isinstance(case.body.get("agent_id"), str):
        case.body["agent_id"] = data.draw(st.sampled_from([key.agent.agent_id, "another"]))

    answer = case.call(
        base_url="https://127.0.0.1",
        headers={"Authorization": f"Bearer {key.text}"},  # type: ignore[attr-defined]
    )

    assert answer.status_code < 500, answer.text
    case.validate_response(answer, checks=DOCUMENTED)
