"""What there is in NumPy. See `docs.coverage` for the meaning of the names."""

from __future__ import annotations

import numpy as np

TITLE = "NumPy"
VERSION = np.__version__
NAMESPACES = {"numpy": np, "numpy.linalg": np.linalg, "numpy.fft": np.fft, "numpy.ndarray": np.ndarray}
PACKS = "numpy_"

OUTSIDE = {
    "a constant": "False_ True_ ScalarType e euler_gamma inf nan newaxis pi little_endian sctypeDict typecodes",
    "a class of numbers or dtypes without derivative": (
        "bool bool_ byte bytes_ character datetime64 dtype flexible generic iinfo int16 int32 int64 int8 int_ intc "
        "integer intp long longlong number object_ short signedinteger str_ timedelta64 ubyte uint uint16 uint32 "
        "uint64 uint8 uintc uintp ulong ulonglong unsignedinteger ushort void busdaycalendar inexact floating "
        "complexfloating"
    ),
    "a class of numbers that is float64 or has no other precision than the platform's": (
        "clongdouble complex256 float128 longdouble"
    ),
    "a class: its methods are listed, or it is what a function gives": "ndarray ufunc flatiter broadcast",
    "a subclass of ndarray: refused as an argument": "asmatrix bmat matrix memmap recarray record numpy.ma",
    "reading from outside": (
        "from_dlpack fromfile fromregex fromstring genfromtxt load loadtxt numpy.ndarray.device numpy.ndarray.to_device"
    ),
    "configuration": (
        "errstate get_include get_printoptions getbufsize geterr geterrcall printoptions set_printoptions setbufsize "
        "seterr seterrcall show_config show_runtime test"
    ),
    "text": "base_repr binary_repr",
    "dates": "busday_count busday_offset datetime_as_string datetime_data is_busday",
    "bits": "packbits unpackbits",
    "an exception or warning": (
        "LinAlgError AxisError ComplexWarning ModuleDeprecationWarning RankWarning TooHardError "
        "VisibleDeprecationWarning"
    ),
    "gone in NumPy 2, and no function of numbers": (
        "ALLOW_THREADS BUFSIZE CLIP DataSource ERR_CALL ERR_DEFAULT ERR_IGNORE ERR_LOG ERR_PRINT ERR_RAISE ERR_WARN "
        "FLOATING_POINT_SUPPORT FPE_DIVIDEBYZERO FPE_INVALID FPE_OVERFLOW FPE_UNDERFLOW Inf Infinity MAXDIMS "
        "MAY_SHARE_BOUNDS MAY_SHARE_EXACT NAN NINF NZERO NaN PINF PZERO RAISE SHIFT_DIVIDEBYZERO SHIFT_INVALID "
        "SHIFT_OVERFLOW SHIFT_UNDERFLOW UFUNC_BUFSIZE_DEFAULT UFUNC_PYVALS_NAME WRAP add_docstring add_newdoc "
        "add_newdoc_ufunc byte_bounds cast chararray clongfloat longcomplex longfloat compare_chararrays deprecate "
        "deprecate_with_doc disp fastCopyAndTranspose find_common_type format_parser get_array_wrap geterrobj infty "
        "issctype issubclass_ issubsctype lookfor mat maximum_sctype nbytes obj2sctype recfromcsv recfromtxt safe_eval "
        "sctype2char sctypes set_numeric_ops set_string_function seterrobj source string_ tracemalloc_domain unicode_ "
        "who"
    ),
    "indices and grids of constants": "index_exp s_ mgrid ogrid",
}

IMPLIED = {"numpy.linalg.vecdot": "through numpy.vecdot"}

NOTES = """
A *rule* gives the derivative; a function that is *derived* is differentiated through its own Python code or through
simpler code that does the same. What is *not differentiable* is just called: its derivative is zero nearly everywhere,
or it gives no numbers. `out=` of every function, and `where=` and `dtype=` of ufuncs, are differentiated; so are the
methods `reduce`, `accumulate`, `reduceat`, `outer` and `at` of ufuncs. Arrays of objects, structured arrays, masked
arrays and `np.matrix` that the function makes are refused.

Where a derivative does not exist or is not unique: elements that tie in a maximum or minimum share its cotangent
evenly; |x| and norms have derivative zero at zero. Eigenvectors and singular vectors are determined where their
values are distinct; where values are equal (but for rounding), what does not change when their vectors are turned
into one another is differentiated (projectors, `u @ vh`), and what depends on such vectors and on the values (`v @
diag(f(w)) @ v.T`) is refused by the pullback: `scipy.linalg` has `sqrtm`, `logm`, `expm` and `polar`. Where
`numpy.polynomial` drops leading coefficients that are exactly 0 and something depends on them, the result is not
finite; `poly1d` refuses such. A function that is refused raises `MissingRule` with the reason when it is given
something that has a derivative, and is just called otherwise.
"""
