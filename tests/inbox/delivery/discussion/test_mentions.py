"""A comment mentions colleagues by name, and the colleagues are notified."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest
from django.core import mail
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.models import Membership, Team, User
from inbox.delivery.discussion.mentions import mentioned_in
from inbox.models import Comment, Mention
from inbox.notifications import digests
from inbox.notifications.waiting import new_mentions
from tests.inbox.person import Person, text_of
from tests.types import MakeDelivery, Prefer
from wake.models import Delivery


@pytest.fixture
def sam(team: Team) -> User:
    user = User.objects.create_user("sam@example.com", display_name="Sam Okafor")
    Membership.objects.create(team=team, user=user, role="reviewer")
    return user


@pytest.fixture
def other_sam(team: Team) -> User:
    user = User.objects.create_user("sam2@example.com", display_name="Sam O'Neill")
    Membership.objects.create(team=team, user=user, role="reader")
    return user


def write(person: Person, delivery: Delivery, text: str) -> None:
    sent = person.post(delivery, "comments", id=str(uuid4()), text=text)
    assert sent.status_code == 303


def names(text: str, team: Team, by: User) -> set[str]:
    return {user.display_name for user in mentioned_in(text, team_id=team.pk, by=by)}


@pytest.mark.parametrize(
    "text",
    ["@Sam Okafor, look", "(@sam okafor)", "for @Sam.", "@SAM", "two\n@sam\nthree", "@Sam's idea"],
)
def test_a_name_after_an_at_mentions_a_person(
    text: str, team: Team, alice: User, sam: User
) -> None:
    assert names(text, team, alice) == {"Sam Okafor"}


@pytest.mark.parametrize(
    "text", ["Sam", "@ sam", "sam@sam", "write to me@sam", "@samantha", "@", "@@", "@Okafor"]
)
def test_other_words_mention_no_one(text: str, team: Team, alice: User, sam: User) -> None:
    assert names(text, team, alice) == set()


def test_a_first_name_that_two_people_have_needs_the_second(
    team: Team, alice: User, sam: User, other_sam: User
) -> None:
    assert names("@sam", team, alice) == set()
    assert names("@sam o'neill", team, alice) == {"Sam O'Neill"}


@pytest.mark.parametrize("name", ["İbrahim Kaya", "Weiß Maria"])
def test_a_first_name_whose_letters_change_in_lower_case_is_found(
    name: str, team: Team, alice: User, sam: User
) -> None:
    User.objects.filter(pk=sam.pk).update(display_name=name)

    assert names(f"@{name.split()[0]}, look", team, alice) == {name}


def test_first_names_are_counted_without_regard_to_case(
    team: Team, alice: User, sam: User, other_sam: User
) -> None:
    User.objects.filter(pk=other_sam.pk).update(display_name="SAM O'Neill")

    assert names("@Sam", team, alice) == set()


def test_only_people_of_the_team_are_mentioned_and_never_the_author(
    team: Team, alice: User, bob: User, mallory: User
) -> None:
    assert names("@alice @bob @mallory", team, alice) == {"bob"}


def test_a_mention_is_announced_until_the_delivery_is_opened(
    alices: Person, bobs: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery()
    write(alices, delivery, "@bob what do you think?")

    assert "1 comment mentions you" in text_of(bobs.get("/"))
    assert "what do you think?" in text_of(bobs.get("/mentions/"))
    assert "mentions you" in text_of(bobs.see(delivery))

    assert "mentions you" not in text_of(bobs.see(delivery))
    assert "mentions you" not in text_of(bobs.get("/"))
    assert "what do you think?" in text_of(bobs.get("/mentions/"))
    assert "mentions you" not in text_of(alices.get("/"))


def test_a_head_request_sees_nothing(
    alices: Person, bobs: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery()
    write(alices, delivery, "@bob")

    bobs.client.head(f"/deliveries/{delivery.pk}/")

    assert Mention.objects.unseen().count() == 1


def test_removing_a_comment_ends_its_mentions(
    alices: Person, bobs: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery()
    write(alices, delivery, "@bob")

    alices.post(delivery, f"comments/{Comment.objects.get().pk}/remove")

    assert "mentions you" not in text_of(bobs.get("/"))
    assert "No comment mentions you yet." in text_of(bobs.get("/mentions/"))


def test_a_person_who_left_the_team_reads_no_mention_of_it(
    alices: Person, bobs: Person, make_delivery: MakeDelivery
) -> None:
    write(alices, make_delivery(), "@bob secret")

    Membership.objects.filter(user=bobs.user).delete()

    assert "secret" not in text_of(bobs.get("/mentions/"))
    assert "mentions you" not in text_of(bobs.get("/"))
    assert new_mentions(bobs.user).count == 0


def test_a_digest_tells_of_mentions_and_a_frequent_one_tells_once(
    alices: Person, bobs: Person, make_delivery: MakeDelivery, prefer: Prefer
) -> None:
    delivery = make_delivery()
    Delivery.objects.filter(pk=delivery.pk).update(acknowledged_at=timezone.now())
    write(alices, delivery, "@bob have a look")
    now = timezone.now()
    prefer(bobs.user, digest="hours", next_digest_at=now)

    digests.send_due(clock=lambda: now)
    digests.send_due(clock=lambda: now + timedelta(hours=5))

    [told] = [each for each in mail.outbox if each.to == [bobs.user.email]]
    assert told.subject == "Wake: 1 comment mentions you"
    assert "/mentions/" in told.body
    assert "have a look" not in told.body


def test_a_long_discussion_costs_no_more_queries(
    alices: Person, bobs: Person, make_delivery: MakeDelivery
) -> None:
    delivery = make_delivery()
    counts = []
    for _ in range(3):
        write(alices, delivery, "@rita and the others")
        bobs.see(delivery)
        with CaptureQueriesContext(
            connection,
        ) as queries:
            bobs.see(delivery)
        counts.append(len(queries))

    assert len(set(counts)) == 1
