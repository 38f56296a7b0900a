"""Modules imported by the function itself."""

import numpy as np

from tests.zoo.registry import case

SCALE = 1.0
ROW = np.ones(3)


@case(1.3)
def modules_by_name(x):
    import math
    import os.path
    import statistics as st

    return math.sin(x) * st.fmean([x, 2.0]) * len(os.path.join("a", "b"))


@case(1.3)
def names_out_of_modules(x):
    from math import exp, pi
    from types import SimpleNamespace as Bag

    settings = Bag(rate=0.5, scales=[1.0, 2.0])
    return sum(exp(-settings.rate * s * x) for s in settings.scales) * pi


@case(1.3)
def imported_in_a_loop_and_in_a_branch(x):
    total = 0.0
    for k in range(3):
        if k:
            import numpy as np

            total += np.tanh(k * x)
        else:
            from operator import mul

            total += mul(x, x)
    return total


@case(1.3)
def the_one_that_is_there(x):
    try:
        import a_module_that_nobody_has as m
    except ImportError:
        import math as m
    try:
        from math import a_name_that_nobody_has as f
    except ImportError:
        f = m.cos
    return f(x) * m.sqrt(x)


@case(1.3)
def from_a_package_beside_this_one(x):
    from . import by_name
    from .iteration import fibonacci

    return sum(v * x for _, v in zip(range(4), fibonacci(x))) + len(by_name.__name__) * x


@case(1.3)
def a_name_that_the_function_assigns(x):
    global SCALE
    SCALE = x * x
    from tests.zoo.local_imports import SCALE as scale

    return scale * x


@case(1.3)
def an_array_that_the_function_writes_to(x):
    ROW[0] = x * x
    from tests.zoo import local_imports
    from tests.zoo.local_imports import ROW as row

    return row[0] * x + local_imports.ROW[0]
