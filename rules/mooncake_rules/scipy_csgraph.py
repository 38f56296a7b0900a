"""scipy.sparse.csgraph: lengths of shortest paths and spanning trees, by the weights of the edges they go along.

Which edges these are is constant. A length has the derivative 1 by each weight on its path.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse import csgraph
from scipy.sparse.linalg import LinearOperator

from mooncake_py.registry import overlay, rrule, zero_derivative
from mooncake_py.shadows import Shadow
from mooncake_py.tangents import CoDual, take_fdata, zero_fdata
from mooncake_py.testing import RuleCase, case
from mooncake_rules.mirror import as_written
from mooncake_rules.scipy_library import fitted
from mooncake_rules.scipy_sparse import Sparse, entries, give, matrix_of, pattern, tangent_of


def _handed_over(graph: CoDual, t: Any) -> Any:
    """The cotangent t, a sparse matrix, of the weights of the graph: in place, or to return where it is an array."""
    if isinstance(graph.primal, Sparse):
        give(graph, lambda row, col: entries(t, row, col))
        return None
    d = fitted(t.toarray(), graph.primal)
    if type(graph.fdata) is not Shadow:
        return d
    graph.fdata.add(d)
    return None


# -- shortest paths ---------------------------------------------------------------------------------------


def _edge_cotangents(dy: np.ndarray, before: np.ndarray) -> tuple[np.ndarray, ...]:
    """From, to and cotangent of the edges, for those of the lengths of the paths from each source to each node.

    `before` is negative where no node precedes. What arrives at a node goes on to the one before it: from those that
    are most edges away on.
    """
    sources, nodes = np.nonzero(before >= 0)
    depth = np.zeros(before.shape, int)
    at = np.where(before >= 0, before, 0)
    rows = np.arange(len(before))[:, None]
    here = before >= 0
    while here.any():
        depth += here
        at = np.where(here, at, 0)
        here = here & (before[rows, at] >= 0)
        at = before[rows, at]
    total = np.where(before >= 0, dy, 0.0)
    order = np.argsort(-depth[sources, nodes], kind="stable")
    sources, nodes = sources[order], nodes[order]
    cuts = np.flatnonzero(np.diff(depth[sources, nodes])) + 1
    for level in np.split(np.arange(len(nodes)), cuts):
        i, j = sources[level], nodes[level]
        np.add.at(total, (i, before[i, j]), total[i, j])
    return before[sources, nodes], nodes, total[sources, nodes]


def _weights(graph: Any, row: np.ndarray, col: np.ndarray) -> np.ndarray:
    """Of the edges; infinite where there is none."""
    if isinstance(graph, Sparse):
        csr = graph.tocsr()
        return np.where(entries(pattern(csr), row, col) > 0, entries(csr, row, col), np.inf)
    w = np.asarray(graph, float)[row, col]
    return np.where((w == 0) | np.isnan(w), np.inf, w)


def _of_edges(graph: Any, dy: np.ndarray, before: np.ndarray, directed: bool) -> Any:
    """The cotangent of the graph, as a sparse matrix. An edge to be walked both ways has the lower of two weights."""
    row, col, d = _edge_cotangents(dy, before)
    if not directed:
        turned = _weights(graph, col, row) < _weights(graph, row, col)
        row, col = np.where(turned, col, row), np.where(turned, row, col)
    return sp.csr_array((d, (row, col)), shape=graph.shape)


def _paths(f: Any) -> None:
    parameters = inspect.signature(f)

    @rrule(f)
    def rule(graph: CoDual, *args, **options):
        plain = [v.primal if type(v) is CoDual else v for v in args]
        named = {k: v.primal if type(v) is CoDual else v for k, v in options.items()}
        o = parameters.bind(graph.primal, *plain, **named)
        o.apply_defaults()
        asked = bool(o.arguments["return_predecessors"])
        o.arguments["return_predecessors"] = True
        found = f(*o.args, **o.kwargs)
        y, before = found[:2]
        fy = zero_fdata(y)
        weighted = not o.arguments["unweighted"]
        n = before.shape[-1]

        def pullback(dy):
            t = take_fdata(fy, dy if not asked or dy is None else dy[0])
            if t is None or not weighted:
                return None
            d = np.where(np.isfinite(y), t, 0.0).reshape(-1, n)
            edges = _of_edges(graph.primal, d, before.reshape(-1, n), o.arguments["directed"])
            return _handed_over(graph, edges), *[None] * (len(args) + len(options))

        return CoDual(found if asked else y, (fy, *[None] * (len(found) - 1)) if asked else fy), pullback


for _f in (csgraph.shortest_path, csgraph.dijkstra, csgraph.floyd_warshall, csgraph.bellman_ford, csgraph.johnson):
    _paths(_f)

# -- trees ------------------------------------------------------------------------------------------------


@rrule(csgraph.minimum_spanning_tree)
def minimum_spanning_tree(graph: CoDual, overwrite=False):
    y = csgraph.minimum_spanning_tree(graph.primal)
    fy = tangent_of(y)

    def pullback(dy):
        d = take_fdata(fy.f["data"], None)
        return None if d is None else _handed_over(graph, matrix_of(y, d))

    return CoDual(y, fy), pullback


# -- Laplacians -------------------------------------------------------------------------------------------

_laplacian = as_written(csgraph.laplacian)


def _roots(degrees: Any) -> Any:
    """The roots of the degrees, and one for nodes without edges, as SciPy has it; it takes their roots as well."""
    isolated = degrees == 0
    return np.where(isolated, 1, np.sqrt(np.where(isolated, 1, degrees))), isolated


@overlay(csgraph.laplacian)
def laplacian(
    csgraph, normed=False, return_diag=False, use_out_degree=False, *, copy=True, form="array", dtype=None,
    symmetrized=False,
):  # fmt: skip
    """That of unit degrees is the other one, its rows and columns divided by the roots of the degrees."""
    if not normed:
        return _laplacian(
            csgraph, False, return_diag, use_out_degree, copy=copy, form=form, dtype=dtype, symmetrized=symmetrized
        )
    kind = csgraph.dtype if dtype is None else dtype
    m, degrees = _laplacian(csgraph, False, True, use_out_degree, copy=copy, form=form, symmetrized=symmetrized)
    w, isolated = _roots(degrees)
    if form != "array":
        m = _scaled(m if form == "function" else m.matmat, 1.0 / w)
        if form == "lo":
            m = LinearOperator(matvec=m, matmat=m, shape=csgraph.shape, dtype=kind)
    elif sp.issparse(m):
        m = m.tocoo()
        m.data /= w[m.row]
        m.data /= w[m.col]
        m.setdiag(1 - isolated)
        m = m.astype(kind, copy=False)
    else:
        m /= w
        m /= w[:, None]
        np.fill_diagonal(m, 1 - isolated)
        m = m.astype(kind, copy=False)
    return (m, w.astype(kind)) if return_diag else m


def _scaled(f: Any, c: Any) -> Any:
    return lambda v: c[:, None] * f(v * c[:, None])


zero_derivative(
    csgraph.connected_components, csgraph.breadth_first_order, csgraph.depth_first_order,
    csgraph.reverse_cuthill_mckee, csgraph.structural_rank, csgraph.maximum_bipartite_matching,
    csgraph.min_weight_full_bipartite_matching,
)  # fmt: skip

# -- cases ------------------------------------------------------------------------------------------------

_W = np.array([0.7, 1.9, 0.4, 2.3, 1.1, 0.6])
_I, _J = np.array([0, 0, 1, 2, 3, 1]), np.array([1, 2, 2, 3, 4, 3])
_SPREAD = np.array([0.3, 1.1, 1.9, 9.0])
_DENSE = 0.3 + np.square(np.sin(np.arange(25.0).reshape(5, 5)))


def _graph(w: Any, of: Any = sp.csr_array) -> Any:
    return of((w, (_I, _J)), shape=(6, 6))


def _reached(d: Any) -> Any:
    return np.where(np.isfinite(d), d, 0.0)


def _near(x: Any) -> Any:
    """The weights of points that are near to each other; the last one has none."""
    d = (x[:, None] - x) ** 2
    return np.exp(-d) * (d < 4.0)


CASES: list[RuleCase] = [
    case(lambda w: _reached(csgraph.shortest_path(_graph(w)) ** 2), _W),
    case(lambda w: _reached(csgraph.shortest_path(_graph(w, sp.csr_matrix), "D", False, indices=1)), _W),
    case(lambda w: _reached(csgraph.dijkstra(_graph(w).tocsc(), indices=[0, 3], return_predecessors=True)[0]), _W),
    case(lambda w: _reached(csgraph.dijkstra(_graph(w), False, indices=[0, 4], min_only=True)), _W),
    case(lambda w: _reached(csgraph.dijkstra(_graph(w), unweighted=True, limit=1.5)) * w[0], _W),
    case(lambda w: csgraph.floyd_warshall(w) ** 2, _DENSE),
    case(lambda w: csgraph.johnson(w, indices=[0, 2]), _DENSE),
    case(lambda w: csgraph.bellman_ford(w, False, 1) ** 2, _DENSE),
    case(lambda w: csgraph.shortest_path(np.round(2 * w) * w, directed=False, indices=0) ** 2, _DENSE),
    case(lambda a, b: csgraph.shortest_path(np.array([[0.0, a, 3.0], [a, 0.0, b], [3.0, b, 0.0]]))[0], 0.4, 1.2),
    case(lambda w: csgraph.minimum_spanning_tree(_graph(w)).sum() ** 2, _W),
    case(lambda w: csgraph.minimum_spanning_tree(w).toarray() ** 2, _DENSE),
    case(lambda x: csgraph.laplacian(_near(x), normed=True) ** 2, _SPREAD),
    case(lambda x: csgraph.laplacian(_near(x) * x, True, True, True), _SPREAD),
    case(lambda x: csgraph.laplacian(_near(x) * x, True, True, symmetrized=True, copy=False), _SPREAD),
    case(lambda x: csgraph.laplacian(_near(x), return_diag=True), _SPREAD),
    case(lambda x: csgraph.laplacian(_near(x), True, form="function")(x[:, None]), _SPREAD),
    case(lambda w: csgraph.laplacian(_graph(w), True, use_out_degree=True).toarray(), _W),
    case(lambda w: csgraph.laplacian(_graph(w), True, True, True)[1], _W),
    case(lambda w: _graph(w).sum() * csgraph.connected_components(_graph(w))[0], _W),
]
