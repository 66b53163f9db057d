"""Lets clients sign in by OAuth 2.1 instead of a copied key, on django-oauth-toolkit."""
