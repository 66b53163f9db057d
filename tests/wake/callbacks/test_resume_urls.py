"""An answer resumes a run that waits at a URL (docs/by-url.md). Each double answers as its service
is documented, read on 2026-11-26."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler

import pytest

from tests.types import Answered
from tests.wake.callbacks.receiver import Receiver, answering
from wake.callbacks.sending import send_due
from wake.models import Callback, CallbackAttempt


@dataclass
class Double:
    """Has one run that waits. `first` and `later` are the status codes of the first POST to the
    run's URL and of further ones, and `target` is the path and query of this URL."""

    target: str
    first: int
    first_body: str
    later: int
    later_body: str
    resumed: list[str] = field(default_factory=list)

    def __call__(self, request: BaseHTTPRequestHandler) -> None:
        if request.path != self.target:
            answering(404, b"")(request)
        elif self.resumed:
            answering(self.later, self.later_body.encode())(request)
        else:
            self.resumed.append(request.path)
            answering(self.first, self.first_body.encode())(request)


def trigger_dev() -> Double:
    """https://trigger.dev/docs/management/waitpoints/complete-callback: a token that is completed
    already says so, too."""
    target = "/api/v1/waitpoints/tokens/waitpoint_c9jx2/callback/5f1e77aa0b"
    success = '{"success":true}'
    return Double(target, 200, success, 200, success)


def vercel() -> Double:
    """https://useworkflow.dev/docs/api-reference/workflow/create-webhook: 202 without a body, and
    404 for a token that nothing waits for."""
    return Double("/.well-known/workflow/v1/webhook/wh_Zk3v9", 202, "", 404, "")


def n8n() -> Double:
    """https://docs.n8n.io/integrations/builtin/core-nodes/n8n-nodes-base.wait: 409 for an execution
    that has finished."""
    target = "/webhook-waiting/231?signature=0c6f61d2f9"
    finished = 'The execution "231" has finished already.'
    return Double(target, 200, '{"message":"Workflow was started"}', 409, finished)


@pytest.fixture(params=[trigger_dev, vercel, n8n], ids=["trigger", "vercel", "n8n"])
def double(request: pytest.FixtureRequest) -> Double:
    made: Double = request.param()
    return made


def test_an_answer_resumes_the_run_once(
    double: Double, receiver: Receiver, answered: Answered
) -> None:
    url = receiver.url.removesuffix("/hook") + double.target
    receiver.then(double)

    callback = answered("redirected", url=url, feedback="Only the EU.")
    send_due()

    (request,) = receiver.received
    assert request.headers["Content-Type"] == "application/json"
    assert (request.json["status"], request.json["feedback"]) == ("redirected", "Only the EU.")
    assert len(double.resumed) == 1
    callback.refresh_from_db()
    assert callback.delivered_at is not None
    assert callback.due_at is None


def test_a_repeated_callback_resumes_nothing_twice(
    double: Double, receiver: Receiver, answered: Answered
) -> None:
    """The sender may die after the POST, so that another sends the same callback again."""
    url = receiver.url.removesuffix("/hook") + double.target
    receiver.then(double, double)
    callback = answered("approved", url=url)
    send_due()
    Callback.objects.update(delivered_at=None, due_at=callback.created_at)

    send_due()

    assert len(receiver.received) == 2
    assert len({json.dumps(each.json) for each in receiver.received}) == 1
    assert len(double.resumed) == 1
    codes = list(CallbackAttempt.objects.order_by("pk").values_list("status_code", flat=True))
    assert codes == [double.first, double.later]
    assert CallbackAttempt.objects.latest("pk").answer == double.later_body
