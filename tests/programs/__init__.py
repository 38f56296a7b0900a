"""Random Python programs, each from a seed: what a user could have written, bounded and mostly smooth.

`program(seed)` (`writer.py`) is a module's source with a function `main`, and arguments for it; `check(program)`
compares the engine with plain Python and with central differences. The text is written by a class that is put together
from layers: expressions, simple statements, compound statements, objects and iterators, functions. For long runs:
`python -m tests.programs --count 5000 --seed 1`.
"""
