"""Says who is told of a delivery: the channels that may hear of a team, and what each wants."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Q

from accounts.models import Membership
from inbox.models import Channel, Event, NotificationRule
from wake.assignment.assigned import Assigned
from wake.models import Delivery

# They ask for an answer, so they are for people who may give one.
FOR_THOSE_WHO_ANSWER = {Event.QUESTION, Event.CLOSING, Event.ASSIGNED}


@dataclass(frozen=True, slots=True)
class Listener:
    """A channel that works, with its rule. `may_answer` is about its person in this team; a team's
    channel has none."""

    rule: NotificationRule
    may_answer: bool

    @property
    def channel(self) -> Channel:
        return self.rule.channel

    def wants(self, event: Event, delivery: Delivery, assigned: Assigned | None = None) -> bool:
        """Returns whether the channel sends this event of the delivery. What is assigned to others
        is theirs, unless none of them may answer any more."""
        rule, user_id = self.rule, self.channel.user_id
        if event not in rule.events or (rule.agents and str(delivery.agent_id) not in rule.agents):
            return False
        if user_id is None or event == Event.MENTION:
            return True
        if event in FOR_THOSE_WHO_ANSWER and not self.may_answer:
            return False
        is_mine = assigned is not None and assigned.is_to(user_id)
        if event == Event.ASSIGNED or rule.only_assigned:
            return is_mine
        is_of_others = assigned is not None and not assigned.is_left_alone and not is_mine
        return not is_of_others


def listeners_of(team_id: int, *, user_ids: Collection[int] | None = None) -> list[Listener]:
    """Returns the channels of a team and of its members, or of these people alone; at most two
    queries, and one in a team without channels."""
    of_members = Q(channel__user__memberships__team=team_id, channel__user__is_active=True)
    rules = NotificationRule.objects.filter(channel__in=Channel.objects.working())
    if user_ids is None:
        rules = rules.filter(of_members | Q(channel__team=team_id))
    else:
        rules = rules.filter(of_members, channel__user__in=user_ids)
    found = list(rules.select_related("channel"))
    people = [rule.channel.user_id for rule in found if rule.channel.user_id is not None]
    if not people:
        return [Listener(rule, may_answer=True) for rule in found]
    able = set(
        Membership.objects.that_answer()
        .filter(team=team_id, user__in=people)
        .values_list("user", flat=True)
    )
    return [Listener(rule, may_answer=rule.channel.user_id in able) for rule in found]
