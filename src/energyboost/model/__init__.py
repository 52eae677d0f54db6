"""The model itself: trees, their ensembles, and the finite space they are a density on."""
