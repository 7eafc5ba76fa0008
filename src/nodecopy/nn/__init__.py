"""Networks as values: M of them in one batch, trained on only the rows that the labels can see.

Reading order: ``propagation`` (Â and the sparse product), ``receptive`` (which rows a loss needs),
``batch`` (M members side by side), ``dropout`` (counter-based masks), ``network`` (what an
architecture is), ``layered`` with ``gcn``, ``cheb`` and ``gat``; ``features`` and ``diffusion``, a
linear network; ``torch_module``, any PyTorch module.
"""
