"""Puts the figures of the processes and those of the database together, for one answer."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from wake.server.metrics import figures
from wake.server.metrics.instruments import OWN
from wake.server.metrics.process_files import VARIABLE, ProcessFiles


class SharedFigures:
    """Collects the figures that all processes of all machines share. If the database is away, they
    are left out."""

    def collect(self) -> Iterable[Metric]:
        for figure, values in figures.current().items():
            family = CounterMetricFamily if figure.is_counter else GaugeMetricFamily
            metric = family(figure.name, figure.documentation, labels=figure.labels)
            for labels, value in values.items():
                metric.add_metric(labels, value)
            yield metric


def registry() -> CollectorRegistry:
    everything = CollectorRegistry()
    # Without the folder, as in a shell, this process counts for itself alone.
    folder = os.environ.get(VARIABLE)
    everything.register(ProcessFiles(Path(folder)) if folder else OWN)
    everything.register(SharedFigures())
    return everything
