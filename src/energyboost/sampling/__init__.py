"""Drawing rows from a model."""
