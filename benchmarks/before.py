"""The default preset as it was before labels of all classes counted alike, from public parts."""

from __future__ import annotations

from dataclasses import replace

from nodecopy.classifiers import AnnotatedBlocks, DiffusedStudent, DiffusionClassifier
from nodecopy.features.kernel_map import KernelMap
from nodecopy.graph_models import NodeCopying
from nodecopy.nn.diffusion import Diffusion
from nodecopy.posterior import BayesianGCN
from nodecopy.stack.component import Component
from nodecopy.stack.stacked import StackedClassifier
from nodecopy.stack.temperature import TemperatureScaling
from nodecopy.weights import MaximumPosterior


def default_before() -> StackedClassifier:
    """Return what `nodecopy.presets.best` returned."""
    once = BayesianGCN(
        base=linear(Diffusion(), 0.005),
        graph_model=NodeCopying(0.1, set_apart=True),
        weights=MaximumPosterior(0.005, None),
        n_zeta=10,
        n_weights=1,
        network=Diffusion(),
    )
    return StackedClassifier(
        (
            Component(
                replace(once, base=once),
                0.25,
                in_folds=replace(once, n_zeta=3),
                calibrator=TemperatureScaling(-0.5, 0.7),
            ),
            component(linear(Diffusion(1.0, 0), 0.1), 0.1, -0.7),
            component(linear(Diffusion(features=False), 0.003), 0.1, -1.5),
            component(linear(Diffusion(0.0, 2), 0.001), 0.15, -0.1),
            component(AnnotatedBlocks(), 0.5, 0.4, name="blocks", start="pool"),
            component(DiffusedStudent(), 0.4, -1.0, start="blocks"),
        ),
        calibrator=TemperatureScaling(-0.3, 0.3),
        class_prior="estimate",
        features=KernelMap(),
    )


def linear(diffusion: Diffusion, precision: float) -> DiffusionClassifier:
    return DiffusionClassifier(diffusion, MaximumPosterior(precision, None))


def component(classifier, count: float, log_temperature: float, **settings) -> Component:
    return Component(
        classifier, count, calibrator=TemperatureScaling(log_temperature, 0.7), **settings
    )
