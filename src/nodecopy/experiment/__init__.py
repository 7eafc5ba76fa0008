"""Experiments: the methods the paper compares, and single trials of them."""

from nodecopy.experiment.methods import METHODS, build_method
from nodecopy.experiment.trial import Trial, TrialResult, run_trial

__all__ = ["METHODS", "Trial", "TrialResult", "build_method", "run_trial"]
