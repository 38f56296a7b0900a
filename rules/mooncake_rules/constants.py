"""Packages whose objects hold constants: tables, files, plots. What they compute of these is a constant as well."""

from __future__ import annotations

from mooncake_py.structure import constant_packages

_TABLE = "its tables hold constants; take the numbers out of them with .to_numpy() or .values, and compute with NumPy"
_FILE = "what is in a file is a constant; write values when the gradient is there"
_PLOT = "a plot has no derivative; draw it when the gradient is there, or draw no_diff(x)"
_WHOLE = "its numbers are made of whole numbers, which have no derivative; use math or scipy.special"

constant_packages.update(
    pandas=_TABLE, polars=_TABLE, pyarrow=_TABLE, xarray=_TABLE,
    h5py=_FILE, netCDF4=_FILE, zarr=_FILE, pathlib=_FILE, tempfile=_FILE, zipfile=_FILE, tarfile=_FILE,
    matplotlib=_PLOT, mpl_toolkits=_PLOT, seaborn=_PLOT, plotly=_PLOT,
    mpmath=_WHOLE, gmpy2=_WHOLE,
)  # fmt: skip
