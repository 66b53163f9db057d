"""Names the ASGI application where Django's tools look for it."""

from wake.server.asgi import application as application
