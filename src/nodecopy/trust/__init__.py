"""How far to trust a fit: sets, accuracy, suspects, novelty, explanations, next labels."""
