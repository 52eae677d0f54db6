"""Training: configuration, growth of one tree, rounds of boosting."""
