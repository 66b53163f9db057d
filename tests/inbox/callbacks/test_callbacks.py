"""People read each callback with its state and attempts, and can send a callback again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.agents import signing_secrets
from accounts.audit import SYSTEM
from accounts.models import Agent, AuditEvent, Membership, Team, User
from pages.times import when
from tests.inbox.person import Person, text_of
from tests.types import Answer, MakeDelivery
from wake.callbacks.attempts import claim, settle
from wake.callbacks.http_client import HttpResult
from wake.deliveries import deliver
from wake.models import Callback, CallbackHost, FailingTarget

Make = Callable[..., Callback]
URL = "https://hooks.example.com/answers?token=1"


@pytest.fixture
def callback(make_delivery: MakeDelivery, answer: Answer, allowed_host: str) -> Make:
    """Creates a callback of an answer that was given just now, with these attempts."""

    def make(*outcomes: HttpResult, at: datetime | None = None, **fields: Any) -> Callback:
        at = at or timezone.now()
        delivery = make_delivery(**{"callback_webhook": URL, **fields})
        row = Callback.objects.get(response=answer(delivery, at=at, feedback="Use the third row."))
        for outcome in outcomes:  # what a sender does for each attempt
            row.tries, row.lease, row.due_at = (
                row.tries + 1,
                uuid4(),
                at,
            )
            row.save(update_fields=["tries", "lease", "due_at"])
            settle([(row, outcome)], at=at)
            row.refresh_from_db()
        return row

    return make


def test_each_callback_has_its_status(alices: Person, callback: Make) -> None:
    callback(headline="Not tried yet")
    callback(HttpResult(status_code=204), headline="Arrived")
    later = callback(HttpResult(status_code=500), headline="Failed once")
    callback(*[HttpResult(error="timed out")] * 10, headline="Failed for good")
    callback(HttpResult(status_code=410), headline="No longer wanted")

    page = text_of(alices.get("/callbacks/"))

    assert later.due_at
    assert "Not tried yet Sending to hooks.example.com research-agent-01" in page
    assert "Arrived Delivered to" in page
    assert f"Failed once Retrying {when(later.due_at, now=timezone.now())} to" in page
    assert "Failed for good Failed after ten attempts to" in page
    assert "No longer wanted Gone (410) to" in page


def test_a_target_counts_delivered_and_waiting_callbacks(
    alices: Person, callback: Make, team: Team
) -> None:
    CallbackHost.objects.create(team=team, pattern="*.other.example.com:8443")
    for _ in range(3):
        callback(HttpResult(status_code=200))
    callback(HttpResult(status_code=410))
    waiting = callback(HttpResult(status_code=503, answer="busy"))
    callback(HttpResult(status_code=200), callback_webhook="https://a.other.example.com:8443/")

    page = text_of(alices.get("/callbacks/"))

    assert waiting.due_at
    assert "hooks.example.com Retrying" in page
    assert "Needs attention hooks.example.com: Retrying" in page
    assert "(Response 503). Endpoints" in page
    assert "3 of 4 delivered 1 waiting" in page
    assert "a.other.example.com:8443 Delivered 1 of 1 delivered" in page


def test_the_page_says_if_no_endpoint_needs_attention(alices: Person, callback: Make) -> None:
    callback(HttpResult(status_code=200))

    assert "No endpoint needs your attention." in text_of(alices.get("/callbacks/"))


def test_a_host_that_was_taken_off_the_list_is_named_as_the_reason(
    alices: Person, bobs: Person, callback: Make
) -> None:
    refused = callback(
        HttpResult(error="hooks.example.com is not one of this team's callback hosts")
    )
    CallbackHost.objects.all().delete()

    page = text_of(alices.get(f"/callbacks/{refused.pk}/"))
    bobs_page = text_of(bobs.get(f"/callbacks/{refused.pk}/"))

    assert "Not a callback host next attempt" in page
    assert "Add the host to send it." in page
    assert "A team owner can add the host" in bobs_page


def test_a_callback_shows_its_attempts_and_its_request(alices: Person, callback: Make) -> None:
    one = callback(
        HttpResult(error="timed out", took_ms=10_000),
        HttpResult(status_code=500, answer="<b>out of\x02 memory</b>", took_ms=12),
    )

    answer = alices.get(f"/callbacks/{one.pk}/")

    page = text_of(answer)
    assert page.index("Response 500 2 of 10") < page.index("No response 1 of 10")
    assert "timed out" in page
    assert "12 ms" in page
    assert "&lt;b&gt;out of⟨U+0002⟩ memory&lt;/b&gt;" in answer.content.decode()
    assert "POST https://hooks.example.com/… Host" in page
    assert "token=1" not in page
    assert one.response
    assert f"X-Wake-Delivery-Id {one.response.delivery_id}" in page
    assert f"webhook-id {one.pk}" in page
    assert "X-Wake-Signature sha256=••••••••" in page
    assert "webhook-signature v1,••••••••" in page
    assert '"feedback":"Use the third row."' in page
    assert "the agent can still fetch this answer" in page


def test_no_signature_is_on_the_page(alices: Person, agent: Agent, callback: Make) -> None:
    one = callback(HttpResult(status_code=500))

    page = alices.get(f"/callbacks/{one.pk}/").content.decode()

    assert signing_secrets.secrets_of(agent.pk)[0] not in page
    assert page.count("••••••••") == 2


def test_a_long_body_is_cut_and_says_so(
    alices: Person, make_delivery: MakeDelivery, answer: Any, allowed_host: str
) -> None:
    response = answer(make_delivery(callback_webhook=URL), feedback="long " * 10_000)

    page = alices.get(f"/callbacks/{response.callback.pk}/")

    assert "Truncated." in text_of(page)
    assert len(page.content) < 30_000


def test_a_reviewer_sends_it_again_with_the_same_body_and_id(bobs: Person, callback: Make) -> None:
    one = callback(*[HttpResult(error="timed out")] * 10)
    assert "Send again" in text_of(bobs.get(f"/callbacks/{one.pk}/"))

    answer = bobs.client.post(f"/callbacks/{one.pk}/replay", follow=True)

    assert answer.redirect_chain == [(f"/callbacks/{one.pk}/", 303)]
    assert "Sending again now, with the same body and ID." in text_of(answer)
    (again,) = claim(at=timezone.now())
    assert (again.pk, bytes(again.body)) == (one.pk, bytes(one.body))
    settle([(again, HttpResult(status_code=200))], at=timezone.now())
    page = text_of(bobs.get(f"/callbacks/{one.pk}/"))
    assert "sent again by bob" in page
    assert "Send again" not in page
    event = AuditEvent.objects.get(event="callback.sent_again")
    assert (event.actor_name, event.address) == ("bob", "127.0.0.1")


def test_a_delivered_callback_is_not_sent_again(bobs: Person, callback: Make) -> None:
    one = callback(HttpResult(status_code=200))

    answer = bobs.client.post(f"/callbacks/{one.pk}/replay")

    assert answer.status_code == 409
    assert "This callback was already delivered." in text_of(answer)
    assert not claim(at=timezone.now() + timedelta(days=1))


def test_readers_cannot_send_again(ritas: Person, callback: Make) -> None:
    one = callback(HttpResult(status_code=410))

    page = ritas.get(f"/callbacks/{one.pk}/")
    sent = ritas.client.post(f"/callbacks/{one.pk}/replay")

    assert "Send again" not in text_of(page)
    assert sent.status_code == 403
    assert not AuditEvent.objects.filter(event="callback.sent_again").exists()


def test_the_list_is_filtered_by_state_and_agent(
    alices: Person, callback: Make, team: Team
) -> None:
    callback(HttpResult(status_code=200), headline="Arrived")
    callback(HttpResult(status_code=500), headline="Waits")
    callback(HttpResult(status_code=410), headline="Stopped")
    agent = Agent.objects.create(team=team, agent_id="writing-agent-02")

    assert _headlines(alices.get("/callbacks/", state="delivered")) == ["Arrived"]
    assert _headlines(alices.get("/callbacks/", state="waiting")) == ["Waits"]
    assert _headlines(alices.get("/callbacks/", state="stopped")) == ["Stopped"]
    assert _headlines(alices.get("/callbacks/", agent=str(agent.pk))) == []
    assert "No matching callbacks." in text_of(alices.get("/callbacks/", agent=str(agent.pk)))
    assert len(_headlines(alices.get("/callbacks/", state="x", agent="y", before="z"))) == 3


def test_older_callbacks_are_on_the_next_page(alices: Person, callback: Make, answer: Any) -> None:
    start = timezone.now() - timedelta(hours=2)
    for number in range(52):
        row = callback(headline=f"Number {number:02}")
        Callback.objects.filter(pk=row.pk).update(created_at=start + timedelta(minutes=number))

    first = alices.get("/callbacks/")
    second = alices.get("/callbacks/", before=str(first.context["older"]))

    assert _headlines(first) == [f"Number {number:02}" for number in range(51, 1, -1)]
    assert _headlines(second) == ["Number 01", "Number 00"]
    assert second.context["older"] is None


def test_both_pages_take_few_queries_for_any_length(
    alices: Person, callback: Make, second_team: Team
) -> None:
    def queries(path: str) -> int:
        with CaptureQueriesContext(
            connection,
        ) as asked:
            alices.get(path)
        return len(asked)

    one = callback(HttpResult(status_code=500))
    few = queries("/callbacks/")
    for _ in range(12):
        callback(HttpResult(status_code=500), HttpResult(status_code=200))

    assert queries("/callbacks/") == few <= 11
    assert queries(f"/callbacks/{one.pk}/") <= 9


def test_another_teams_callback_and_an_unknown_one_are_the_same_404(
    alices: Person, mallory: User, answer: Any
) -> None:
    theirs = Agent.objects.create(team=mallory.teams.get(), agent_id="their-agent")
    signing_secrets.ensure_secret(theirs, by=SYSTEM)
    CallbackHost.objects.create(team=theirs.team, pattern="hooks.example.com")
    fields: dict[str, Any] = {
        "provider": "claude",
        "type": "output",
        "headline": "Theirs",
        "summary": "Theirs.",
        "at": timezone.now(),
    }
    delivery = deliver(theirs, agent_id="their-agent", callback_webhook=URL, **fields).delivery
    hidden = answer(delivery, by=mallory).callback

    for method, end in (("get", ""), ("post", "replay")):
        send = getattr(alices.client, method)
        not_mine = send(f"/callbacks/{hidden.pk}/{end}")
        not_there = send(f"/callbacks/{uuid4()}/{end}")
        assert not_mine.status_code == not_there.status_code == 404
    page = text_of(alices.get("/callbacks/"))
    assert "Theirs" not in page
    assert "No callbacks yet." in page


def test_a_member_of_two_teams_sees_the_team_of_each_callback(
    alices: Person, callback: Make, second_team: Team
) -> None:
    assert Membership.objects.filter(user=alices.user).count() == 2
    one = callback(HttpResult(status_code=200))

    assert "Garden" in text_of(alices.get("/callbacks/"))
    assert "Garden" in text_of(alices.get(f"/callbacks/{one.pk}/"))


def _headlines(answer: Any) -> list[str]:
    return [line.callback.response.delivery.headline for line in answer.context["lines"]]


@pytest.fixture
def suspended(callback: Make, team: Team) -> FailingTarget:
    """Suspends a target after five days without a success, with two unsent answers."""
    since = timezone.now() - timedelta(days=5)
    for _ in range(2):
        row = callback(HttpResult(error="timed out"), at=since)
    Callback.objects.update(due_at=None)
    target = FailingTarget.objects.get(host=row.host)
    target.suspended_at = timezone.now()
    target.save(update_fields=["suspended_at"])
    return target


def test_a_suspended_target_is_resumed_with_its_waiting_callbacks(
    alices: Person, suspended: FailingTarget
) -> None:
    before = text_of(alices.get("/callbacks/"))

    after = text_of(alices.client.post(f"/callbacks/targets/{suspended.pk}/resume", follow=True))

    assert (
        f"Suspended after repeated failures {suspended.host} No callback succeeded for five days"
        in before
    )
    assert "2 callbacks are sent" in after
    assert "Resume" not in after.replace("Resumed", "")
    assert Callback.objects.unfinished().count() == 2
    assert not FailingTarget.objects.exists()


def test_only_people_who_may_answer_resume_a_target(
    ritas: Person, browser: Callable[[User], Person], mallory: User, suspended: FailingTarget
) -> None:
    path = f"/callbacks/targets/{suspended.pk}/resume"

    assert "Resume and send" not in text_of(ritas.get("/callbacks/"))
    assert ritas.client.post(path).status_code == 403
    assert browser(mallory).client.post(path).status_code == 404
    assert FailingTarget.objects.suspended().count() == 1
