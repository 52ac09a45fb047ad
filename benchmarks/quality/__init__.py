"""How good the answers are, measured on labelled texts. benchmarks/answers.py prints all of it."""
