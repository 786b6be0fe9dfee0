"""Whether answers from logs are right: ``python -m benchmarks.answers`` writes results.md."""
