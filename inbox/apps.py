from importlib import import_module

from django.apps import AppConfig
from django.db.models.signals import post_migrate

from inbox.search import fts5


class InboxConfig(AppConfig):
    name = "inbox"

    def ready(self) -> None:
        import_module("inbox.receivers")
        post_migrate.connect(fts5.create_index, sender=self)
