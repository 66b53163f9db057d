"""Holds what people are and where they belong: profiles, absences, memberships, invitations."""
