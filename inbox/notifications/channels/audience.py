"""Finds the channels to notify: the channels of a team and of its members, and the events that each
channel sends."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from django.db.models import Q

from accounts.models import Membership
from inbox.models import Channel, ChannelEvent, NotificationRule
from wake.assignment.assigned import Assigned
from wake.models import Delivery

# These events ask for an answer, so only people who may answer get them.
FOR_THOSE_WHO_ANSWER = {ChannelEvent.QUESTION, ChannelEvent.CLOSING, ChannelEvent.ASSIGNED}


@dataclass(frozen=True, slots=True)
class Listener:
    """Describes a working channel with its rule. `may_answer` says whether the channel's person may
    answer in this team. A team's channel has no person."""

    rule: NotificationRule
    may_answer: bool

    @property
    def channel(self) -> Channel:
        return self.rule.channel

    def wants(
        self, event: ChannelEvent, delivery: Delivery, assigned: Assigned | None = None
    ) -> bool:
        """Returns whether the channel sends this event of the delivery. A delivery that is assigned
        to others is sent only if none of the others may answer any more."""
        rule, user_id = self.rule, self.channel.user_id
        if event not in rule.events or (rule.agents and str(delivery.agent_id) not in rule.agents):
            return False
        if user_id is None or event == ChannelEvent.MENTION:
            return True
        if event in FOR_THOSE_WHO_ANSWER and not self.may_answer:
            return False
        is_mine = assigned is not None and assigned.is_to(user_id)
        if event == ChannelEvent.ASSIGNED or rule.only_assigned:
            return is_mine
        is_of_others = assigned is not None and not assigned.is_left_alone and not is_mine
        return not is_of_others


def listeners_of(team_id: int, *, user_ids: Collection[int] | None = None) -> list[Listener]:
    """Returns the channels of a team and its members, or only of these people. Makes one query in a
    team without channels, and at most two in other teams."""
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
