from importlib import import_module

from django.apps import AppConfig


class RelayConfig(AppConfig):
    name = "relay"
    verbose_name = "A2A relay"

    def ready(self) -> None:
        # Models can be imported only now.
        for module in ("relay.receivers", "relay.jobs"):
            import_module(module)
        kinds, pushes = map(import_module, ("wake.callbacks.kinds", "relay.tasks.pushes"))
        kinds.register(pushes.KIND)
        sentences, words = map(
            import_module, ("accounts.audit.sentences", "relay.pages.audit_sentences")
        )
        sentences.register(words.EVENTS)
