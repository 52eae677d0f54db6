"""Benchmarks: ratios against the paper author's own package, and how cost grows with size."""
