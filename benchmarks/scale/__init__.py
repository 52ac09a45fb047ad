"""The parts of benchmarks/scale_model.py: the steps, what their operations cost, the scenarios, and the report."""
