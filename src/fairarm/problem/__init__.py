"""What is known before the first pull: graph, arms, mechanisms, tolerance, costs; and what a pull is."""
