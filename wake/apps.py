from importlib import import_module

from django.apps import AppConfig


class WakeConfig(AppConfig):
    name = "wake"
    verbose_name = "Deliveries and answers"

    def ready(self) -> None:
        for module in ("checks", "jobs"):
            import_module(f"wake.{module}")
