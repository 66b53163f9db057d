"""Contains facts about people: profiles, absences, memberships, invitations."""
