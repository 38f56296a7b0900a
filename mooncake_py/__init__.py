"""Gradients of plain Python and NumPy code, by bytecode."""
