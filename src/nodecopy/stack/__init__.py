"""How components become one classifier, calibrated by the training labels alone.

Reading order: ``held_out`` (predictions by fits that did not see the label), ``temperature``
(what a calibrator is, and the one in use), ``pool`` (weights and calibration of several
classifiers), ``component`` and ``stacked`` (several classifiers as one), and a ``class_prior`` that
is known.
"""
