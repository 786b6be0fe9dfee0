"""Bundled problems by name, and problem files by path: one door for both."""

from fairarm.catalog.bundled import Scenario, bundled_problems, load_problem

__all__ = ["Scenario", "bundled_problems", "load_problem"]
