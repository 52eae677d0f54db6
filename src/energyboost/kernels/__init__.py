"""Compiled loops: arrays in, arrays out. Kernels trust what they are given; the layers above validate it."""
