"""Handles requests and answers between the HTTP server and the views."""
