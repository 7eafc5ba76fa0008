"""Reports: what was found, written for people. Nothing here fits a model."""
