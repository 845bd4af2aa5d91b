"""Training time, measured, predicted, reduced."""
