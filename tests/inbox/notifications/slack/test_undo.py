"""A person takes back in Slack what they answered, and nothing else."""

from __future__ import annotations

from collections.abc import Callable

from accounts.models import AuditEvent, Membership, User
from database.clock import database_now
from inbox.models import Channel, SlackReply
from inbox.notifications.slack import presses
from tests.inbox.notifications.slack.conftest import MINUTE, Slack, ids_of, update, words_of
from tests.inbox.notifications.slack.test_presses import reject
from tests.types import MakeDelivery
from wake.models import Delivery, Response
from wake.responses import release
from wake.undo import take_back


def test_a_rejection_can_be_undone_in_the_message(
    slack: Slack, notify_bob: Callable[..., Delivery]
) -> None:
    notify_bob()
    slack.press("rejected")
    update()

    assert slack.press("undo") == 200

    assert not Response.objects.exists()
    assert AuditEvent.objects.get(event="response.taken_back").detail["place"] == "slack"
    update()
    assert ids_of(slack.last) == ["approved", "rejected", "open"]


def test_an_old_undo_takes_back_no_later_answer(
    slack: Slack, notify_bob: Callable[..., Delivery], bob: User
) -> None:
    """The person undid the first answer on the page, and answered again."""
    delivery = notify_bob()
    slack.press("approved")
    update()
    old = slack.last
    take_back(delivery, by=bob, at=database_now())
    reject(delivery, by=bob)

    assert slack.press("undo", of=old) == 200

    assert Response.objects.get().status == "rejected"
    update()
    assert presses.NOTHING_TO_UNDO in words_of(slack.last)


def test_an_undo_of_another_delivery_is_no_button_of_ours(
    slack: Slack,
    notify_bob: Callable[..., Delivery],
    make_delivery: MakeDelivery,
    bob: User,
    linked: Channel,
) -> None:
    delivery, other = notify_bob(), make_delivery()
    reject(other, by=bob)
    for about in (str(Response.objects.get().pk), delivery.content_hash, ""):
        value = f"{linked.pk}|{delivery.pk}|{about}"
        button = {"action_id": "undo", "value": value}
        slack.press("undo", of={"blocks": [{"type": "actions", "elements": [button]}]})

    assert Response.objects.get().delivery == other


def test_undo_leaves_the_message_when_the_hold_ends(
    slack: Slack, notify_bob: Callable[..., Delivery]
) -> None:
    notify_bob()
    slack.press("approved")
    update()
    before = slack.last
    response = Response.objects.get()
    release(response, at=response.release_at)

    update(response.release_at + MINUTE)

    assert ids_of(slack.last) == ["open"]
    assert not SlackReply.objects.exists()
    Response.objects.update(sent_at=database_now())
    slack.press("undo", of=before)
    update()
    assert presses.SENT in words_of(slack.last)
    assert Response.objects.exists()


def test_an_undo_takes_back_no_answer_of_another_person(
    slack: Slack, notify_bob: Callable[..., Delivery], alice: User, bob: User
) -> None:
    delivery = notify_bob()
    Membership.objects.filter(user=bob).update(role=Membership.Role.OWNER)
    slack.press("approved")
    update()
    with_undo = slack.last
    slack.press("undo")
    reject(delivery, by=alice)

    slack.press("undo", of=with_undo)

    assert Response.objects.get().by == alice
