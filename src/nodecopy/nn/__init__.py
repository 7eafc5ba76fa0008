"""The engine: M networks in one batch, trained on only the rows that the labels can see.

Reading order: ``propagation`` (Â and the sparse product), ``receptive`` (which rows a loss needs),
``batch`` (M members laid side by side), ``dropout`` (masks that depend on names), ``network`` (what
an architecture is), ``gcn`` / ``cheb`` / ``gat``, ``train`` (the one loop), ``ensemble`` (stacked
weights and their predictions).
"""
