"""Collects the deliveries that a person just answered or acknowledged, which the list shows with
Undo."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.contrib.sessions.backends.base import SessionBase
from django.urls import reverse

from accounts.access.viewer import Viewer
from inbox.answering.acknowledged import Acknowledged, remembered
from inbox.answering.answer_status import answer_status, just_answered
from inbox.reading.done import Done
from wake.models import Delivery, Response

SENT = "Sent. You can undo until the agent fetches it."
NOT_SENT = "No answer was sent."


@dataclass(frozen=True, slots=True)
class JustDone:
    """Holds everything that can now be undone, newest first."""

    entries: Sequence[Done] = ()

    @property
    def newest(self) -> Done | None:
        return self.entries[0] if self.entries else None

    @property
    def earlier(self) -> Sequence[Done]:
        return self.entries[1:]

    @property
    def answers(self) -> list[Done]:
        return [entry for entry in self.entries if entry.is_answer]

    def by_delivery(self) -> dict[UUID, Done]:
        return {pk: entry for entry in self.entries for pk in entry.ids}


def recent_ids(session: SessionBase, *, answered: UUID | None, at: datetime) -> list[UUID]:
    """Returns the ids of ended deliveries that stay in the list, without those whose answer is
    held. Makes no query."""
    struck = [entry for entry in remembered(session, at=at) if entry.is_struck(at)]
    return [*([answered] if answered else []), *(pk for entry in struck for pk in entry.ids)]


def just_done(
    viewer: Viewer, session: SessionBase, *, answered: UUID | None, at: datetime
) -> JustDone:
    """Returns the deliveries that the person just answered or acknowledged. Makes one query for
    answers, and one for the headline of a single acknowledged delivery."""
    responses = just_answered(viewer, also=answered)
    entries = [_answer(response, viewer, at=at) for response in responses]
    entries += _acknowledgements(remembered(session, at=at), viewer, at=at)
    return JustDone(sorted(entries, key=lambda entry: entry.at, reverse=True))


def _answer(response: Response, viewer: Viewer, *, at: datetime) -> Done:
    status = answer_status(response, viewer, at=at)
    is_held = response.responded_at is None and response.release_at > at
    return Done(
        ids=(response.delivery_id,),
        at=response.answered_at,
        words=status.title,
        note=status.pickup,
        undo_path=reverse("undo", args=[response.delivery_id]),
        headline=response.delivery.headline,
        is_answer=True,
        can_be_undone=status.can_be_undone,
        later_note=SENT if is_held else "",
        hold_seconds=-int(-(response.release_at - at).total_seconds() // 1) if is_held else 0,
    )


def _acknowledgements(
    entries: list[Acknowledged], viewer: Viewer, *, at: datetime
) -> Iterator[Done]:
    single = [entry.ids[0] for entry in entries if entry.count == 1]
    own = Delivery.objects.for_person(viewer.user).filter(pk__in=single)
    headlines = dict(own.values_list("pk", "headline")) if single else {}
    for entry in entries:
        yield Done(
            ids=entry.ids,
            at=entry.at,
            words="Acknowledged",
            note="" if entry.are_failures else NOT_SENT,
            undo_path=reverse("acknowledge-undo"),
            headline=headlines.get(entry.ids[0], "") if entry.count == 1 else "",
        )
