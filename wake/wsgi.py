"""Names the WSGI application where Django's tools look for it."""

from wake.server.wsgi import application as application
