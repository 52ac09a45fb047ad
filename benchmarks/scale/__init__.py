"""The parts of benchmarks/scale_model.py: counting operations, pricing them, the steps, and the scenarios."""
