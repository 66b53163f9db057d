from importlib import import_module

from django.apps import AppConfig


class WakeConfig(AppConfig):
    name = "wake"
    verbose_name = "Deliveries and answers"

    def ready(self) -> None:
        for module in ("wake.server.checks", "wake.jobs"):
            import_module(module)
        # Models can be imported only now.
        kinds, answers = map(import_module, ("wake.callbacks.kinds", "wake.callbacks.answers"))
        kinds.register(answers.KIND)
        page, pictures, errors = map(
            import_module,
            ("pages.page", "wake.blobs.pictures", "wake.server.http.error_handlers"),
        )
        page.register_error_page(pictures.TooManyPictures, errors.server_error)
