"""Routes the public parts of the log."""

from django.urls import path

from accounts.log import tile_views
from accounts.log.checkpoints import views as checkpoint_views

urlpatterns = [
    path("log/checkpoint", checkpoint_views.checkpoint, name="log-checkpoint"),
    path("log/tile/<path:path>", tile_views.tile, name="log-tile"),
]
