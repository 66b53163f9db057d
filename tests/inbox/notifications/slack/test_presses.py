"""A person answers from Slack, and the press of anyone else changes nothing."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection

from accounts.models import AuditEvent, Membership, Team, User
from database.clock import database_now
from inbox.delivery.timeline import timeline_of
from inbox.models import Channel, SlackReply, SlackRequest
from inbox.notifications.slack import presses
from tests.inbox.notifications.slack.conftest import MEMBER, MINUTE, Slack, ids_of, update, words_of
from tests.types import MakeRule
from wake.models import AssignedPerson, Assignment, Delivery, Response, Vote
from wake.responses import respond


def reject(delivery: Delivery, *, by: User) -> None:
    content_hash = delivery.content_hash
    respond(delivery, by=by, status="rejected", content_hash=content_hash, at=database_now())


def test_an_approval_from_slack_is_the_answer_and_the_audit_says_so(
    slack: Slack, notify_bob: Callable[..., Delivery], bob: User
) -> None:
    delivery = notify_bob()
    sent = slack.api.received[0]
    assert sent.path == "/api/chat.postMessage"
    assert sent.headers["Authorization"] == "Bearer xoxb-1"
    assert sent.json["channel"] == MEMBER
    assert ids_of(sent.json) == ["approved", "rejected", "open"]

    assert slack.press("approved") == 200

    response = Response.objects.get(delivery=delivery)
    assert (response.status, response.by) == ("approved", bob)
    event = AuditEvent.objects.get(event="delivery.answered")
    assert (event.detail["place"], event.actor_id) == ("slack", str(bob.pk))
    where = "in Slack, without opening it; everything was in sight"
    assert timeline_of(delivery)[-1].text.endswith(f"approved {where}")
    assert update() == 1
    assert "Approved by" in words_of(slack.last)
    assert slack.last["replace_original"] is True
    assert ids_of(slack.last) == ["undo", "open"]


def test_a_repeated_request_is_refused_also_after_an_undo(
    slack: Slack, notify_bob: Callable[..., Delivery]
) -> None:
    notify_bob()
    slack.press("approved")
    approval = slack.sent
    update()
    slack.press("undo")
    slack.sent = approval

    assert slack.send_again() == 403

    assert not Response.objects.exists()


@pytest.mark.parametrize("minutes", [-6, 6])
def test_a_late_request_is_refused(
    minutes: int, slack: Slack, notify_bob: Callable[..., Delivery]
) -> None:
    notify_bob()

    assert slack.press("approved", at=database_now() + minutes * MINUTE) == 401
    assert not Response.objects.exists()


def test_a_wrong_signature_is_refused(slack: Slack, notify_bob: Callable[..., Delivery]) -> None:
    notify_bob()

    assert slack.press("approved", secret="other") == 401
    body, headers = slack.sent
    slack.sent = body, headers | {"X-Slack-Signature": "v0=é"}
    assert slack.send_again() == 401
    slack.sent = body, {}
    assert slack.send_again() == 401
    assert not Response.objects.exists()
    assert not SlackRequest.objects.exists()


def test_another_workspace_is_refused(slack: Slack, notify_bob: Callable[..., Delivery]) -> None:
    notify_bob()

    assert slack.press("approved", workspace="T0EVIL") == 403
    assert not Response.objects.exists()


def test_another_member_answers_nothing(slack: Slack, notify_bob: Callable[..., Delivery]) -> None:
    notify_bob()

    assert slack.press("approved", by="U0MALLORY") == 200

    assert not Response.objects.exists()
    update()
    assert slack.last["text"] == presses.NOT_LINKED
    assert slack.last["replace_original"] is False


def test_an_unlinked_or_deactivated_person_answers_nothing(
    slack: Slack, notify_bob: Callable[..., Delivery], bob: User, linked: Channel
) -> None:
    notify_bob()
    message = slack.last
    User.objects.filter(pk=bob.pk).update(is_active=False)
    slack.press("approved", of=message)
    User.objects.filter(pk=bob.pk).update(is_active=True)
    linked.delete()
    slack.press("rejected", of=message)

    assert not Response.objects.exists()


def test_a_message_of_a_deactivated_person_repeats_nothing(
    slack: Slack, notify_bob: Callable[..., Delivery], bob: User
) -> None:
    notify_bob()
    slack.press("approved")
    User.objects.filter(pk=bob.pk).update(is_active=False)

    update()

    assert slack.last["text"] == presses.NOT_THERE


def test_a_lost_role_is_refused(
    slack: Slack, notify_bob: Callable[..., Delivery], bob: User
) -> None:
    notify_bob()
    message = slack.last
    Membership.objects.filter(user=bob).update(role=Membership.Role.READER)
    slack.press("approved", of=message)
    update()
    assert "Your role in this team does not allow this." in words_of(slack.last)

    Membership.objects.filter(user=bob).delete()
    slack.press("rejected", of=message)
    update()

    assert slack.last["text"] == presses.NOT_THERE
    assert not Response.objects.exists()


def test_an_old_version_is_not_answered(slack: Slack, notify_bob: Callable[..., Delivery]) -> None:
    delivery = notify_bob()
    message = slack.last
    Delivery.objects.filter(pk=delivery.pk).update(content_hash="0" * 64)

    slack.press("approved", of=message)

    assert not Response.objects.exists()
    update()
    assert presses.CHANGED in words_of(slack.last)
    assert ids_of(slack.last) == ["open"]


def test_a_press_after_the_deadline_opens_wake(
    slack: Slack, notify_bob: Callable[..., Delivery]
) -> None:
    delivery = notify_bob(timeout_seconds=7_200)
    message = slack.last
    Delivery.objects.filter(pk=delivery.pk).update(expires_at=database_now())

    slack.press("approved", of=message)

    assert not Response.objects.exists()
    update()
    assert presses.LATE in words_of(slack.last)


def test_what_was_answered_elsewhere_is_said(
    slack: Slack, notify_bob: Callable[..., Delivery], alice: User
) -> None:
    delivery = notify_bob()
    reject(delivery, by=alice)

    slack.press("approved")
    update()

    assert "Rejected by" in words_of(slack.last)
    assert "Another person answered first." in words_of(slack.last)
    assert ids_of(slack.last) == ["open"]


def test_options_open_wake(slack: Slack, notify_bob: Callable[..., Delivery]) -> None:
    options = [{"id": "a", "label": "A"}, {"id": "b", "label": "B"}]
    choice = {"type": "choice", "name": "plan", "options": options}

    notify_bob(details_json=json.dumps({"wake_blocks": 1, "blocks": [choice]}))

    assert ids_of(slack.last) == ["open"]


def test_an_irreversible_action_opens_wake(
    slack: Slack, notify_bob: Callable[..., Delivery]
) -> None:
    notify_bob(irreversible=True)

    assert ids_of(slack.last) == ["open"]


def test_an_old_message_answers_no_irreversible_action(
    slack: Slack, notify_bob: Callable[..., Delivery]
) -> None:
    """An earlier version sent these buttons for irreversible actions, too."""
    delivery = notify_bob()
    Delivery.objects.filter(pk=delivery.pk).update(irreversible=True)

    slack.press("approved")

    assert not Response.objects.exists()
    update()
    assert presses.IRREVERSIBLE in words_of(slack.last)
    assert ids_of(slack.last) == ["open"]


def test_an_alert_has_no_buttons_that_answer(
    slack: Slack, notify_bob: Callable[..., Delivery]
) -> None:
    notify_bob(type="alert")

    assert ids_of(slack.last) == ["open"]


@pytest.mark.parametrize(
    "body",
    [b"", b"payload=", b"payload={", b"payload=" + b"[" * 5_000, b"a&" * 20],
)
def test_a_signed_body_that_is_no_payload_is_refused(body: bytes, slack: Slack, db: None) -> None:
    assert slack.send(body) == 400


def test_nothing_is_posted_to_another_host(
    slack: Slack, notify_bob: Callable[..., Delivery]
) -> None:
    notify_bob()
    slack.api, home = type(slack.api)(), slack.api
    try:
        assert slack.press("approved", of=home.received[-1].json) == 200
    finally:
        slack.api.stop()

    assert Response.objects.exists()
    assert not SlackReply.objects.exists()


def test_without_settings_there_is_nothing(slack: Slack, settings: Any, db: None) -> None:
    settings.WAKE_SLACK_SIGNING_SECRET = ""

    assert slack.send(b"payload={}", secret="") == 404
    assert slack.client.get("/slack/interactions").status_code == 405


def test_a_failed_update_is_tried_again(slack: Slack, notify_bob: Callable[..., Delivery]) -> None:
    notify_bob()
    slack.press("approved")
    slack.api.behaviours.append(lambda handler: handler.send_error(500))

    assert update() == 0
    assert update(database_now() + timedelta(seconds=6)) == 1


@pytest.mark.django_db(transaction=True)
def test_two_presses_at_once_make_one_response(
    slack: Slack, notify_bob: Callable[..., Delivery]
) -> None:
    notify_bob()
    message = slack.last
    codes: list[int] = []

    def press() -> None:
        try:
            own = Slack(slack.api)
            codes.append(own.press("approved", of=message, at=database_now()))
        finally:
            connection.close()

    threads = [threading.Thread(target=press) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert set(codes) <= {200, 403}
    assert 200 in codes
    assert Response.objects.count() == 1
    assert AuditEvent.objects.filter(event="delivery.answered").count() == 1


def test_who_owes_two_step_sign_in_sets_it_up_first(
    slack: Slack, notify_bob: Callable[..., Delivery]
) -> None:
    delivery = notify_bob()
    Team.objects.filter(pk=delivery.team_id).update(second_factor_required_at=database_now())

    assert slack.press("approved") == 200

    assert not Response.objects.exists()
    update()
    assert slack.last["text"] == presses.OWES


def test_the_names_of_many_people_fit(
    slack: Slack, notify_bob: Callable[..., Delivery], bob: User, team: Team, make_rule: MakeRule
) -> None:
    make_rule(people=[bob], only_they=True)
    delivery = notify_bob()
    AssignedPerson.objects.all().delete()
    assignment = Assignment.objects.get(deliveries=delivery)
    for number in range(8):
        user = User.objects.create_user(f"{number}@example.com", "long enough for this")
        Membership.objects.create(team=team, user=user, role=Membership.Role.REVIEWER)
        AssignedPerson.objects.create(assignment=assignment, user=user, name=f"{number:x<80}")

    assert slack.press("approved") == 200

    update()
    assert "Only 0xxx" in words_of(slack.last)


def test_a_reply_that_cannot_be_written_holds_no_other_back(
    slack: Slack, notify_bob: Callable[..., Delivery]
) -> None:
    notify_bob()
    slack.press("approved")
    lost = SlackReply.objects.first()
    assert lost is not None
    unreadable = SlackReply(url="https://hooks.slack.com/x", due_at=lost.due_at - MINUTE)
    unreadable.save()
    table = SlackReply._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {table} SET url = %s WHERE id = %s",  # noqa: S608 - a name of ours
            ["\x01fernet:gone", unreadable.pk],
        )

    assert update() == 1

    assert "Approved by" in words_of(slack.last)


def test_what_needs_two_people_opens_wake(
    slack: Slack,
    notify_bob: Callable[..., Delivery],
    linked: Channel,
    bob: User,
    alice: User,
    make_rule: MakeRule,
) -> None:
    """A press on a button that the message does not offer is no vote either."""
    make_rule(people=[bob, alice], needed=2)
    delivery = notify_bob()
    assert ids_of(slack.last) == ["open"]

    value = f"{linked.pk}|{delivery.pk}|{delivery.content_hash}|{'0' * 64}"
    button = {"action_id": "approved", "value": value}
    forged = {"blocks": [{"type": "actions", "elements": [button]}]}
    assert slack.press("approved", of=forged) == 200

    update()
    assert presses.OPEN in words_of(slack.last)
    assert not Response.objects.exists()
    assert not Vote.objects.exists()


def test_a_delivery_that_needs_a_passkey_opens_wake(
    slack: Slack, notify_bob: Callable[..., Delivery], bob: User, make_rule: MakeRule
) -> None:
    make_rule(people=[bob], needs_signature=True, must_wait=True)

    notify_bob()

    assert ids_of(slack.last) == ["open"]
    assert "Needs your passkey. Open it in Wake to answer." in words_of(slack.last)


@pytest.mark.parametrize("action", ["approved", "rejected"])
def test_a_button_from_before_a_delivery_needed_a_passkey_answers_nothing(
    action: str, slack: Slack, notify_bob: Callable[..., Delivery]
) -> None:
    notify_bob()
    Delivery.objects.update(needs_signature=True)

    assert slack.press(action) == 200

    update()
    assert "Needs your passkey. Open it in Wake to answer." in words_of(slack.last)
    assert not Response.objects.exists()
