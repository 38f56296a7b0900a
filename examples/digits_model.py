"""A two-layer network in plain NumPy: nothing here knows that it will be differentiated."""

import numpy as np

INPUTS, HIDDEN, CLASSES = 64, 32, 10
SIZES = (INPUTS * HIDDEN, HIDDEN, HIDDEN * CLASSES, CLASSES)
PARAMETERS = sum(SIZES)


def scores(theta, images):
    """Class scores, (n, 10), of images (n, 64), for one flat vector of all weights and biases."""
    a, b, c = SIZES[0], SIZES[0] + SIZES[1], SIZES[0] + SIZES[1] + SIZES[2]
    w1 = theta[:a].reshape(INPUTS, HIDDEN)
    b1 = theta[a:b]
    w2 = theta[b:c].reshape(HIDDEN, CLASSES)
    b2 = theta[c:]
    return np.tanh(images @ w1 + b1) @ w2 + b2


def loss(theta, images, labels, penalty=1e-3):
    """Mean cross-entropy, with a penalty on large weights."""
    z = scores(theta, images)
    z = z - z.max(axis=1, keepdims=True)
    log_likelihood = z[np.arange(len(labels)), labels] - np.log(np.exp(z).sum(axis=1))
    return -log_likelihood.mean() + penalty * (theta @ theta)


def accuracy(theta, images, labels):
    return (scores(theta, images).argmax(axis=1) == labels).mean()


def initial_parameters(seed=0):
    return np.random.default_rng(seed).normal(0.0, 0.1, PARAMETERS)
