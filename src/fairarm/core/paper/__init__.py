"""The paper's algorithms as functions of arrays: schedule, divergences, estimators, rejection, allocation, bounds."""
