"""What there is in SciPy. See `docs.coverage` for the meaning of the names."""

from __future__ import annotations

import scipy
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.linalg
import scipy.ndimage
import scipy.optimize
import scipy.signal
import scipy.spatial.distance
import scipy.special

TITLE = "SciPy"
VERSION = scipy.__version__
NAMESPACES = {
    "scipy.special": scipy.special,
    "scipy.linalg": scipy.linalg,
    "scipy.fft": scipy.fft,
    "scipy.signal": scipy.signal,
    "scipy.ndimage": scipy.ndimage,
    "scipy.spatial.distance": scipy.spatial.distance,
    "scipy.integrate": scipy.integrate,
    "scipy.optimize": scipy.optimize,
    "scipy.interpolate": scipy.interpolate,
}
PACKS = "scipy_"
OUTSIDE = {
    "zeros, nodes and numbers that belong to whole numbers": (
        "ai_zeros bi_zeros bei_zeros beip_zeros ber_zeros berp_zeros kei_zeros keip_zeros kelvin_zeros ker_zeros "
        "kerp_zeros erf_zeros fresnel_zeros fresnelc_zeros fresnels_zeros jn_zeros jnjnp_zeros jnp_zeros jnyn_zeros "
        "y0_zeros y1_zeros y1p_zeros yn_zeros ynp_zeros bernoulli euler stirling2 factorial2 factorialk c_roots "
        "h_roots he_roots l_roots p_roots ps_roots s_roots t_roots ts_roots u_roots us_roots roots_chebyc "
        "roots_chebys roots_chebyt roots_chebyu roots_hermite roots_hermitenorm roots_laguerre roots_legendre "
        "roots_sh_chebyt roots_sh_chebyu roots_sh_legendre chebyc chebys chebyt chebyu hermite hermitenorm laguerre "
        "legendre sh_chebyt sh_chebyu sh_legendre get_window max_len_seq unit_impulse newton_cotes lebedev_rule"
    ),
    "an exception or a warning": (
        "SpecialFunctionError SpecialFunctionWarning LinAlgError LinAlgWarning BadCoefficients IntegrationWarning "
        "ODEintWarning NoConvergence OptimizeWarning"
    ),
    "configuration": (
        "errstate geterr seterr find_best_blas_type get_blas_funcs get_lapack_funcs get_workers set_workers "
        "register_backend set_backend set_global_backend skip_backend prev_fast_len show_options choose_conv_method"
    ),
    "an answer about arrays": (
        "bandwidth ishermitian issymmetric check_COLA check_NOLA is_valid_dm is_valid_y num_obs_dm num_obs_y "
        "check_grad linprog_verbose_callback find_objects generate_binary_structure iterate_structure label "
        "value_indices scipy.ndimage.histogram maximum_position minimum_position correlation_lags argrelextrema "
        "argrelmax argrelmin find_peaks find_peaks_cwt linear_sum_assignment quadratic_assignment"
    ),
    "of sets of truth values": (
        "binary_closing binary_dilation binary_erosion binary_fill_holes binary_hit_or_miss binary_opening "
        "binary_propagation dice hamming jaccard rogerstanimoto russellrao sokalsneath yule watershed_ift "
        "distance_transform_bf distance_transform_cdt distance_transform_edt directed_hausdorff"
    ),
    "a class, or a record that a solver gives": (
        "BDF DOP853 DenseOutput LSODA OdeSolution OdeSolver RK23 RK45 Radau complex_ode ode BFGS Bounds BroydenFirst "
        "HessianUpdateStrategy InverseJacobian KrylovJacobian LbfgsInvHessProduct LinearConstraint "
        "NonlinearConstraint OptimizeResult RootResults SR1 CZT ShortTimeFFT StateSpace TransferFunction "
        "ZerosPolesGain ZoomFFT dlti lti"
    ),
}
IMPLIED = {"scipy.special.sinc": "that of NumPy", "scipy.fft.fftshift": "a case", "scipy.fft.ifftshift": "a case"}
OPEN = "no rule: `MissingRule` where an argument is active, unless its Python code can be derived"
NOTES = """
A *rule* gives the derivative; a function that is *derived* is differentiated through its own Python code or through
simpler code that does the same. What is *not differentiable* is just called. The rules of a module are loaded when
somebody has imported it, so that SciPy stays optional.

Parameters by which no formula is known (the order of an unmodified Bessel function, the degree of a polynomial) must
be constant: where one is active, `MissingRule` says so. So must options, like tolerances. Roots, fixed points and
minima are differentiated by the implicit function theorem at the solution, integrals by that of the derivative,
`odeint`, `ode`, Radau, BDF and LSODA by the adjoint equation. What the function given to a solver captured is
differentiated by as well.

`scipy.stats`: `pdf`, `logpdf`, `cdf`, `logcdf`, `sf`, `logsf`, `ppf`, `isf` of the continuous distributions, and
`pmf`, `logpmf`, `cdf`, `logcdf`, `sf` and `logsf` of the discrete ones, by argument, location, scale and shapes, by
each distribution's own Python code, frozen or not; so are `mean`, `var`, `std`, `stats`, `moment`, `entropy` and
`expect`; `multivariate_normal.pdf` and `.logpdf`. Statistics and tests of samples (`zscore`, `skew`, `pearsonr`,
`linregress`, `ttest_ind` and the like) by their own code too; what they compute from ranks alone is constant.

`scipy.sparse`: products, sums, extrema, conversions, slices, diagonals, triangles and stacks of matrices of every
format that keeps its numbers in an array, by the numbers stored and by dense operands; systems by `spsolve`, `splu`
and `factorized`, and by the iterative methods; so are `lil` and `dok` matrices that are filled by numbers and slices,
but for `+=` and the like of whole `lil` matrices. `scipy.sparse.csgraph`: shortest paths and minimum spanning trees.

`scipy.interpolate`: by values and places of the data, by weights, penalties and knots, and by where it is evaluated.
FITPACK's smoothing until a given residual (`s`) is differentiated as the iteration that it is, and the penalty that
`make_smoothing_spline` chooses by the implicit function theorem.

`scipy.spatial.KDTree.query`: the distances; `ConvexHull`: `volume`, `area`, `equations` and `points`; `Voronoi`:
`vertices`. `scipy.cluster.hierarchy`: the heights of `linkage`. `scipy.stats.gaussian_kde`.
`scipy.spatial.transform`: rotations, from and to every form, and what is done with them.
"""
