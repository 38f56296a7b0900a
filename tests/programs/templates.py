"""What the statements of `tried.py` are made from: one a line, or several between bars.

A letter in braces stands for a variable of a kind, or a constant: `a`, `b` arrays, `s`, `t` numbers, `l` lists, `d` dicts,
`o` objects, `n` a small count, `k` and `c` written numbers, `c` a positive one. What does not fit when it is run is left.
"""

# ruff: noqa: E501

HEADER = """import copy
import functools
import itertools
import math
import operator
from collections import deque, namedtuple

import numpy as np

ROW = np.array([0.5, -1.2, 2.0])
TABLE = np.array([[0.3, 1.1, -0.7], [0.9, -0.4, 0.6]])
COLUMN = np.array([[0.4], [1.2], [-0.3]])
LAYERS = np.arange(6.0).reshape(2, 1, 3) * 0.3 - 0.5
REGULAR = np.array([[2.0, 0.3, 0.1], [0.2, 1.5, -0.4], [0.0, 0.5, 1.8]])
ONE, ZERO_D = np.array([1.4]), np.array(0.8)
PICK, MASK, COUNT = np.array([2, 0, 2]), np.array([True, False, True]), np.arange(3)
HELD = {"a": ROW, "m": TABLE, "s": 0.3}
Pair = namedtuple("Pair", "u v")


class Box:
    ROW = np.array([1.5, 0.2, -0.6])

    def __init__(self, a, k=0.5):
        self.a, self.k = a, k

    def scale(self, f):
        self.a = self.a * f
        return self

    def bump(self, v):
        self.a += v
        return self.a

    @property
    def total(self):
        return np.sum(self.a) * self.k

    def __getitem__(self, i):
        return self.a[i]

    def __setitem__(self, i, v):
        self.a[i] = v

    def __iter__(self):
        return iter(self.a)

    def __len__(self):
        return len(self.a)

    def __add__(self, other):
        return Box(self.a + (other.a if isinstance(other, Box) else other), self.k)

    def __matmul__(self, other):
        return self.a @ other


def total(v):
    if isinstance(v, Box):
        return total(v.a) * v.k
    if isinstance(v, dict):
        return sum(total(x) for x in v.values())
    if isinstance(v, (list, tuple, deque)):
        return sum(total(x) for x in v)
    v = np.asarray(v)
    if v.dtype.kind in "biu":
        return 0.0
    if v.dtype.kind == "c":
        return np.sum(np.sin(v.real)) + np.sum(np.cos(0.3 + v.imag))
    return np.sum(np.sin(v))


def stepped(x, y, k=2):
    for _ in range(k):
        x = np.tanh(x) * 0.9 + 0.1 * y
    return x


def nested(x, n):
    return x if n == 0 else nested(np.sin(x) + 0.1, n - 1)


def rows(x):
    for r in x:
        yield r * 1.1


def applied(f, *args, **kwargs):
    return f(*args, **kwargs)


def by_default(x, c=ROW, more={}):
    return x * c + sum(more.values())


def by_name_alone(x, *, c=COLUMN, k={"k": 0.7}):
    return np.sum(x - c) * k["k"]


def closed(c):
    def inner(x):
        return np.maximum(x, c) * c

    return inner


CLOSED, BOUND = closed(TABLE), functools.partial(np.multiply, ROW)


def state():
    return [ROW, TABLE, COLUMN, LAYERS, REGULAR, ONE, ZERO_D, Box.ROW]


FIRST = copy.deepcopy(state())


def reset():
    for a, was in zip(state(), FIRST):
        a[...] = was
"""

EXPRESSIONS = """
{a} + {b}|{a} - {b}|{a} * {b}|{a} / (1.5 + np.abs({b}))|{s} * {a}|{a} * {s}|{a} - {s}|{s} - {a}|{a} / {c}|{a} ** 2|{a} ** 3
(1 + {a} ** 2) ** {s}|(1.2 + np.abs({a})) ** {b}|-{a}|abs({a})|{a} @ {b}|{a} @ REGULAR|REGULAR @ {a}|{a}.T|{a}[::-1]|{a}[0]
{a}[-1]|{a}[1:]|{a}[..., 0]|{a}[..., None]|{a}[None]|{a}[:, 0]|{a}[:, ::-1]|{a}[1, :]|{a}[PICK]|{a}[MASK]|{a}[{a} > 0.1]
{a}[:, PICK]|{a}[[0, 1]]|{a}[[[0, 2], [1, 1]]]|{a}[np.ix_([0, 1], [2, 0])]|{a}[COUNT[:2], COUNT[:2]]|{a} * ROW|{a} + COLUMN
{a} * LAYERS|TABLE - {a}|ONE * {a}|ZERO_D * {a}|HELD["a"] * {a}|{a} + HELD["s"]|Box.ROW * {a}|by_default({a})|by_name_alone({a})
by_default({a}, {s})|by_default({a}, more={{"m": {s}}})|by_name_alone({a}, c={b})|CLOSED({a})|closed({s})({a})|BOUND({a})
{a}.reshape(-1)|{a}.reshape(-1, 1)|{a}.ravel()|{a}.flatten()|{a}.copy()|{a}.squeeze()|{a}.swapaxes(0, -1)|{a}.sum()|{a}.mean()
{a}.sum(axis=0)|{a}.sum(0, keepdims=True)|{a}.mean(axis=-1)|{a}.max()|{a}.min(axis=0)|{a}.prod()|{a}.std()|{a}.var(axis=0)
{a}.cumsum()|{a}.cumprod(axis=-1)|{a}.dot({b})|{a}.trace()|{a}.diagonal()|{a}.clip(-0.5, 0.8)|{a}.take([0, 1])|{a}.repeat(2)
{a}.item(0)|{a}.tolist()|{a}.astype(float)|{a}.conj()|{a}.real|{a}.imag|np.sin({a})|np.exp(-({a} ** 2))|np.tanh({a})
np.log1p({a} ** 2)|np.sqrt(1 + {a} ** 2)|np.arctan({a})|np.abs({a})|np.square({a})|np.maximum({a}, {b})|np.minimum({a}, 0.2)
np.where({a} > 0, {a}, {b})|np.where({a} > 0.2, {a}, 0.0)|np.where(MASK, {a}, {s})|np.hypot({a}, {b})|np.arctan2({a}, 1.5 + {b} ** 2)
np.logaddexp({a}, {b})|np.fmax({a}, {b})|np.copysign({a}, {b})|np.clip({a}, -0.3, {c})|np.sinc({a})|np.sum({a}, axis=0)
np.sum({a} * {b})|np.sum({a}, where={a} > 0)|np.mean({a} ** 2)|np.max({a}, axis=-1)|np.prod(1 + 0.1 * {a})|np.var({a})
np.std({a}, ddof=1)|np.median({a})|np.median({a}, axis=0)|np.quantile({a}, 0.3)|np.percentile({a}, [20, 70])|np.ptp({a})
np.average({a}, weights=np.abs({a}) + 0.1)|np.nansum({a})|np.linalg.norm({a})|np.linalg.norm({a}, axis=0)|np.linalg.norm({a}, 1)
np.cumsum({a}, axis=0)|np.cumprod({a})|np.diff({a})|np.diff({a}, axis=0)|np.diff({a}, n=2)|np.gradient({a})|np.convolve({a}, {b})
np.convolve({a}, ROW, "same")|np.correlate({a}, {b}, "full")|np.interp({s}, [-1.0, 0.0, 1.5], {a})|np.interp({a}, [-1.0, 0.0, 1.5], ROW)
np.dot({a}, {b})|np.vdot({a}, {b})|np.inner({a}, {b})|np.outer({a}, {b})|np.kron({a}, {b})|np.cross({a}, {b})|np.matmul({a}, {b})
np.tensordot({a}, {b}, 1)|np.tensordot({a}, {b}, 0)|np.einsum("i,i->i", {a}, {b})|np.einsum("ij->ji", {a})|np.einsum("ii", {a})
np.einsum("ij,j->i", {a}, {b})|np.einsum("...i,...i", {a}, {b})|np.einsum("i,j->ij", {a}, {b})|np.concatenate([{a}, {b}])
np.concatenate([{a}, {b}], axis=-1)|np.stack([{a}, {a} * 2])|np.stack([{a}, {b}], axis=-1)|np.vstack([{a}, {b}])|np.hstack([{a}, {b}])
np.column_stack([{a}, {b}])|np.append({a}, {s})|np.append({a}, {b})|np.array([{a}, {b}])|np.array([{s}, {t}, 1.0])|np.block([[{a}, {b}]])
np.array([[{s}, 1.0], [{t}, {s} * {t}]])|np.tile({a}, 2)|np.repeat({a}, [1, 2, 0])|np.roll({a}, 1)|np.roll({a}, -1, axis=0)|np.flip({a})
np.flipud({a})|np.rot90({a})|np.pad({a}, 1)|np.pad({a}, 1, mode="edge")|np.pad({a}, 1, mode="reflect")|np.transpose({a})
np.moveaxis({a}, 0, -1)|np.expand_dims({a}, 0)|np.atleast_2d({a})|np.broadcast_to({a}, (2, 3))|np.broadcast_to({a}, (3, 3))
np.split({a}, 3)|np.array_split({a}, 2)[1]|np.meshgrid({a}, {b})[0]|np.diag({a})|np.diagflat({a})|np.tril({a})|np.triu({a}, 1)
np.vander({a}, 3)|np.sort({a})|np.sort({a}, axis=0)|np.sort({a})[::-1]|{a}[np.argsort({a})]|np.partition({a}, 1)|np.take({a}, PICK)
np.take({a}, [0, 1], axis=-1)|np.take_along_axis({a}, np.argsort({a}, axis=-1), axis=-1)|np.choose(COUNT % 2, [{a}, {b}])
np.select([{a} > 0.3, {a} < -0.3], [{a}, {b}], 0.1)|np.compress(MASK, {a})|np.extract({a} > 0, {a})|np.delete({a}, 1)|np.unique({a})
np.insert({a}, 1, {s})|np.ediff1d({a})|np.polyval({a}, {s})|np.bincount(PICK, weights={a})|np.histogram(ROW, bins=2, weights={a})[0]
np.full(3, {s})|np.full_like({a}, {s})|np.ones_like({a}) * {s}|np.zeros_like({a}) + {a}|np.linspace({s}, {t}, 4)|np.nan_to_num({a})
np.geomspace(1 + {s} ** 2, 3.0, 3)|np.apply_along_axis(np.sum, 0, {a})|np.vectorize(lambda u: u * u)({a})|np.add.reduce({a})
np.multiply.accumulate({a})|np.add.outer({a}, {b})|np.multiply.outer({a}, {b})|np.maximum.accumulate({a})|np.add.reduceat({a}, [0, 1])
np.lib.stride_tricks.sliding_window_view({a}, 2)|np.linalg.solve(REGULAR, {a})|np.linalg.inv(REGULAR + 0.1 * {a})
np.linalg.det(REGULAR + 0.1 * {a})|np.linalg.slogdet(REGULAR + 0.1 * {a})[1]|np.linalg.svd(REGULAR + 0.1 * {a}, compute_uv=False)
np.linalg.cholesky(REGULAR @ REGULAR.T + 0.1 * np.outer({a}, {a}))|np.linalg.eigvalsh(REGULAR + REGULAR.T + 0.1 * np.diag({a}))
np.linalg.lstsq(REGULAR, {a}, rcond=None)[0]|np.linalg.pinv(REGULAR + 0.1 * {a})|np.linalg.matrix_power(REGULAR * 0.3 + 0.1 * {a}, 3)
np.fft.fft({a})|np.fft.rfft({a})|np.abs(np.fft.fft({a})) ** 2|np.fft.ifft({a}).real|np.fft.irfft(np.fft.rfft({a}), 3)|{a} * 1j
{a} + 1j * {b}|np.exp(1j * {a})|np.real({a})|np.imag({a})|np.conj({a})|np.angle({a} + 2.0)|np.abs({a} + 1j)
float({s})|{s} * {t}|{s} + {t}|math.sin({s})|math.exp(-({s} ** 2))|math.hypot({s}, {t})|math.atan2({s}, 1.5)|max({s}, {t})
min({s}, {t}, 0.3)|abs({s})|{s} if {s} > 0.1 else {t}|sum({a})|max({a}, key=lambda u: -np.sum(u))|sum(u * 2 for u in {a})
[u * {s} for u in {a}]|{{"p": {a}, "q": {s}}}|({a}, {s})|[{a}, {b}]|Pair({a}, {s})|Box({a} * 1.0)|Box(np.array({a}), {s})|list({a})
tuple({a})|dict(enumerate({a}))|[*{a}, {s}]|list(map(np.sin, {a}))|functools.reduce(lambda u, w: u * 0.5 + w, {a})
list(itertools.accumulate({a}))|sorted([float(np.sum(u)) for u in {a}])|[u + w for u, w in zip({a}, {b})]|[i * u for i, u in enumerate({a})]
{{i: u * u for i, u in enumerate({a})}}|deque({a}, maxlen=2)|copy.copy({a})|copy.deepcopy({a})|stepped({a}, {b})|stepped({a}, {s}, 3)
nested({a}, 2)|list(rows({a}))|sum(rows({a}))|np.array(list(rows({a})))|applied(np.sum, {a}, axis=0)|applied(lambda u, w=2.0: u * w, {a})
applied(np.multiply, {a}, {b})|(lambda u: u * {s})({a})|functools.partial(np.maximum, {a})({b})|operator.mul({a}, {s})|np.array({l})
operator.itemgetter(0)({a})|np.stack({l})|np.sum({l}, axis=0)|np.concatenate({l})|{l}[0]|{l}[-1] * 2|sum({l})|{l}[1:]|{l} + {l}
[total(u) for u in {l}]|{d}["p"]|{d}["q"]|{d}.get("q", 0.3)|sum(total(u) for u in {d}.values())|{o}.a|{o}.k * {o}.a|{o}.total|{o}[0]
sum({o})|{o} + {s}|{o} + {o}|{o} @ ROW|{o}.scale({s})|{o}.bump({s})|len({o}) * {s}
"""

STATEMENTS = """
{a} += {b}|{a} -= {s}|{a} *= {b}|{a} *= {s}|{a} /= 1.5 + np.abs({b})|{a} **= 2|{a}[0] = {s}|{a}[0] = {b}[1]|{a}[-1] += {s}
{a}[:] = {b}|{a}[:] = {s}|{a}[...] *= {s}|{a}[1:] = {b}[1:]|{a}[1:] += {a}[:-1]|{a}[:-1] *= {b}[1:]|{a}[::2] = {s}|{a}[::-1] += {b}
{a}[:, 0] = {b}|{a}[:, 0] *= {s}|{a}[0, :] += {b}|{a}[PICK] = {b}|{a}[PICK] += {s}|{a}[MASK] = {s}|{a}[MASK] *= {s}|{a}[{a} > 0.3] = {s}
{a}[{a} < 0] *= {s}|{a}[[0, 1]] = {a}[[1, 0]]|{a}[0], {a}[1] = {a}[1], {a}[0]|{a}[0], {a}[-1] = {s}, {t}|{a}.fill({s})|{a}.sort()
{a}.T[0] += {s}|{a}.ravel()[0] = {s}|{a}.reshape(-1)[1:] *= {s}|{a}.flat[0] = {s}|np.add({a}, {b}, out={a})|np.multiply({a}, {s}, out={a})
np.sin({a}, out={a})|np.add({a}, 1.0, out={a}, where={a} > 0)|np.maximum({a}, {b}, out={a})|np.add.at({a}, PICK, {b})
np.subtract.at({a}, [0, 0], {s})|np.put({a}, [0, 1], {s})|np.copyto({a}, {b})|np.copyto({a}, {s}, where={a} > 0)|np.fill_diagonal({a}, {s})
np.place({a}, {a} > 0, [{s}])|np.putmask({a}, {a} < 0, {b})|np.clip({a}, -0.5, 0.5, out={a})|np.dot({b}, REGULAR, out={a})
{l}.append({a})|{l}.append({s})|{l}.insert(0, {s})|{l}[0] = {s}|{l}[-1] = {a}|{l}[0] *= 2|{l}.reverse()|{l}.pop()|{l}.extend([{s}, {t}])
{l} += [{s}]|{l}[1:] = [{s}]|del {l}[0]|{d}["p"] = {a}|{d}["q"] = {s}|{d}["r"] = {d}["q"] * {s}|{d}["p"] *= 2|{d}.update(q={s})
{d}.setdefault("z", {s})|{d}.pop("q")|{o}.a = {a}|{o}.a += {s}|{o}.a[0] = {s}|{o}[0] = {s}|{o}.k = {s}|{o}.k *= {t}|{o}.a = {o}.a * {s}
{o}.a *= {b}
"""

HEADS = """
for i in range({n}):|for i, r in enumerate({a}):|for r, q in zip({a}, {b}):|for r in {a}:|if np.sum({a}) > {k}:|if {s} > {k}:
for r in {l}:|for i, r in {d}.items():|try:|with np.errstate(all="ignore"):|for i in reversed(range(len({a}))):
"""


def listed(text: str) -> list[str]:
    """The templates, one by one."""
    return [t for line in text.strip().split("\n") for t in line.split("|")]
