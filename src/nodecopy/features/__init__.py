"""Columns to numbers: the feature matrix, encoded columns, scaling, kernels."""
