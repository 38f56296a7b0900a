"""Graphs as dicts of dicts, and the views of these: where they change meanwhile, and where they do not."""

import heapq
import math
from collections import defaultdict

from tests.zoo.registry import case

EDGES = {("a", "b"): 1.3, ("b", "c"): 0.4, ("a", "c"): 2.1, ("c", "d"): 0.7}
XS = [1.3, 0.4, 0.9, 1.7]


@case(EDGES)
def weights_into_every_node(edges):
    graph = {}
    for (a, b), w in edges.items():
        graph.setdefault(a, {})[b] = w * w
        graph.setdefault(b, {})[a] = w
    s = 0.0
    for nb in graph.values():
        k = 1.0
        for w in nb.values():
            s += w * k
            k *= 0.5
    return s


@case(EDGES, 0.5)
def messages_by_generators(edges, x):
    graph = {}
    for (a, b), w in edges.items():
        if a not in graph:
            graph[a] = {}
        graph[a][b] = w
        graph.setdefault(b, {})[a] = w * 0.5
    h = {u: x * (1 + i) for i, u in enumerate(graph)}
    for _ in range(3):
        h = {u: math.tanh(sum(w * h[v] for v, w in nb.items())) for u, nb in graph.items()}
    return sum(h.values())


@case(EDGES)
def missing_nodes_are_made(edges):
    graph = defaultdict(dict)
    for (a, b), w in edges.items():
        graph[a][b] = w
    s = 0.0
    for u, nb in graph.items():
        for v, w in nb.items():
            s += w * w * len(u + v)
    return s


@case(EDGES)
def nodes_in_order(edges):
    nodes = sorted({a for e in edges for a in e})
    graph = {u: {} for u in nodes}
    for (a, b), w in edges.items():
        graph[a][b] = w
    dist = {u: math.inf for u in nodes}
    dist["a"] = 0.0
    heap = [(0.0, "a")]
    while heap:
        d, u = heapq.heappop(heap)
        for v, w in graph[u].items():
            if d + w < dist[v]:
                dist[v] = d + w
                heapq.heappush(heap, (d + w, v))
    return sum(d * (1 + i) for i, d in enumerate(dist.values()))


@case(XS)
def edges_that_change_between_rounds(xs):
    graph = {}
    for i, x in enumerate(xs):
        graph.setdefault(i % 2, {})[i] = x
    s = 0.0
    for k in range(3):
        s += sum(w * (k + 1) for v, w in graph[k % 2].items())
        graph[k % 2][k] = s * 0.3
    return s


@case(XS)
def view_of_the_last_round(xs):
    d = dict(enumerate(xs))
    last = None
    s = 0.0
    for k in range(4):
        if last is not None:
            s += sum(last) * (k + 1)
        last = (w * xs[0] for w in d.values())
        d[k] = d[k] * xs[1]
    return s


@case(XS)
def view_that_is_written_to_before_it_is_asked(xs):
    d = dict(enumerate(xs))
    s = 0.0
    for k in range(3):
        ws = (w * w for w in d.values())
        d[k] = d[k + 1] * xs[k]
        s += sum(ws)
    return s


@case(XS)
def view_that_is_asked_while_rounds_write(xs):
    d = dict(enumerate(xs))
    s = 0.0
    for k in range(2):
        ws = d.values()
        for j in range(3):
            s += sum(ws) * (j + 1)
            d[j] = d[j] * xs[k]
    return s


@case(XS)
def view_on_one_way_only(xs):
    d = dict(enumerate(xs))
    ws = [xs[0]]
    s = 0.0
    for k in range(4):
        if k % 2 == 0:
            ws = d.values()
        d[k] = d[k] * 1.5
        s += sum(ws)
    return s


@case(XS)
def dict_in_a_dict_by_two_names(xs):
    inner = {}
    outer = {0: inner}
    for nb in outer.values():
        nb[1] = [xs[0] * xs[1]]
    outer[0][2] = [xs[2]]
    inner[1].append(xs[3])
    return sum(sum(v) * k for k, v in outer[0].items())


class Arrival:
    def __init__(self, name, cost):
        self.name, self.cost, self.start = name, cost, None


@case(XS, [0.7, 0.8, 0.9, 0.3])
def events_that_cannot_be_compared_in_a_heap(times, costs):
    heap = []
    for i, (t, c) in enumerate(zip(times, costs, strict=True)):
        heapq.heappush(heap, (t, i, Arrival("ab"[i % 2], c)))
    now = s = 0.0
    count = len(heap)
    while heap:
        t, _, event = heapq.heappop(heap)
        event.start = max(now, t)
        now = event.start + event.cost
        s += math.sin(now) * event.cost
        if event.name == "a" and t < 3.0:
            heapq.heappush(heap, (t + 4.0, count, Arrival("b", event.cost * t)))
            count += 1
    return s
