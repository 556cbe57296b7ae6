"""What a model is told of the instances: against scikit-learn's components, and the same whatever the linear algebra."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.decomposition import PCA

from capra.models.instances import MOST, hardness, reduced_features

FEATURES = np.random.default_rng(3).exponential(size=(40, 12)) @ np.random.default_rng(4).normal(size=(12, 20))


def test_few_features_are_only_scaled() -> None:
    found = reduced_features(np.array([[1.0, 5.0, 7.0], [3.0, 5.0, np.nan], [2.0, 5.0, 8.0]]))
    np.testing.assert_allclose(found, [[0.0, 0.0], [1.0, 0.5], [0.5, 1.0]])  # a constant is dropped, a gap is the mean


def test_components_are_those_of_scikit_learn() -> None:
    standard = (FEATURES - FEATURES.mean(axis=0)) / FEATURES.std(axis=0)
    theirs = PCA(MOST).fit_transform(standard)
    theirs *= np.sign((theirs**3).sum(axis=0))
    theirs -= theirs.min(axis=0)
    np.testing.assert_allclose(reduced_features(FEATURES), theirs / theirs.max(axis=0), atol=1e-8)


@pytest.mark.parametrize("seed", range(20))
def test_signs_and_order_of_columns_do_not_matter(seed: int) -> None:
    """Libraries of linear algebra turn components around as they like; trees fitted to them must not know."""
    rng = np.random.default_rng(seed)
    turned = (FEATURES * rng.choice([-2.0, 1.0, 3.0], FEATURES.shape[1]))[:, rng.permutation(FEATURES.shape[1])]
    np.testing.assert_array_equal(reduced_features(turned), reduced_features(FEATURES))


def test_hardness_tells_the_instance_from_who_ran_it() -> None:
    """Slow configurations met the easy instance: means per instance would turn the order around."""
    config, instance = np.array([0, 0, 1, 1, 2, 2]), np.array([0, 1, 0, 1, 1, 2])
    merit, effect = np.array([3.0, 3.5, 0.0]), np.array([0.0, 1.0, 2.0])
    found = hardness(config, instance, merit[config] + effect[instance], 4)
    assert found[0] < found[1] < found[2]
    assert found[3] == np.median(found[:3])  # nobody has run it
