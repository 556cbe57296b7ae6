"""The forests that ``benchmarks.forest`` compares, each behind the same three calls."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from capra.models import CensoredForest

TREES, LEAF, FRACTION = 10, 3, 5 / 6


class Peer(Protocol):
    """One forest for data of ``columns`` columns, the last of which are features of ``instances``.

    Those that can also have ``marginal(configurations)``.
    """

    name: str
    package: str
    package_name: str

    def __init__(self, columns: int, instances: np.ndarray) -> None: ...
    def fit(self, X: np.ndarray, y: np.ndarray) -> None: ...
    def predict(self, X: np.ndarray) -> object: ...


class Capra:
    name, package, package_name = "Capra", "capra", "capra"

    def __init__(self, columns: int, instances: np.ndarray) -> None:
        self.model = CensoredForest(TREES, min_leaf=LEAF, feature_fraction=FRACTION)
        self.instances = instances

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        self.model.fit(X, y)

    def predict(self, X: np.ndarray) -> object:
        return self.model.predict(X)

    def marginal(self, configurations: np.ndarray) -> object:
        return self.model.predict_marginal(configurations, self.instances)


class ScikitLearn:
    name, package, package_name = "scikit-learn RF", "sklearn", "scikit-learn"
    kind = "RandomForestRegressor"

    def __init__(self, columns: int, instances: np.ndarray) -> None:
        from sklearn import ensemble

        self.model: Any = getattr(ensemble, self.kind)(TREES, min_samples_leaf=LEAF, max_features=FRACTION, random_state=0)

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        self.model.fit(X, y)

    def predict(self, X: np.ndarray) -> object:
        return self.model.predict(X)


class ExtraTrees(ScikitLearn):
    name, kind = "scikit-learn ExtraTrees", "ExtraTreesRegressor"


class Pyrfr:
    name, package, package_name = "pyrfr", "pyrfr", "pyrfr"

    def __init__(self, columns: int, instances: np.ndarray) -> None:
        from pyrfr import regression

        self.library = regression
        self.instances = instances

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        """As SMAC3 1.4 did: row by row into its container, then the trees."""
        rows = self.library.default_data_container(X.shape[1])
        for row, value in zip(X.tolist(), y.tolist(), strict=True):
            rows.add_data_point(row, value)
        self.model = self.library.binary_rss_forest()
        options = self.model.options
        options.num_trees = TREES
        options.do_bootstrapping = True
        options.num_data_points_per_tree = len(X)
        options.tree_opts.max_features = int(X.shape[1] * FRACTION)
        options.tree_opts.min_samples_to_split = LEAF
        options.tree_opts.min_samples_in_leaf = LEAF
        options.tree_opts.epsilon_purity = 1e-8
        options.tree_opts.max_num_nodes = 2**20
        self.model.fit(rows, self.library.default_random_engine(1))

    def predict(self, X: np.ndarray) -> object:
        return [self.model.predict_mean_var(row) for row in X.tolist()]

    def marginal(self, configurations: np.ndarray) -> object:
        return self.model.predict_marginalized_over_instances_batch(configurations.tolist(), self.instances.tolist(), True)


class Smac:
    name, package, package_name = "SMAC3 as it is", "smac", "smac"
    leaves: int | None = 2**20

    def __init__(self, columns: int, instances: np.ndarray) -> None:
        from ConfigSpace import ConfigurationSpace, Float
        from smac.model.random_forest.random_forest import RandomForest

        space = ConfigurationSpace()
        space.add([Float(f"x{j}", (0.0, 1.0)) for j in range(columns - instances.shape[1])])
        features = {str(i): row for i, row in enumerate(instances.tolist())}
        self.model: Any = RandomForest(
            space, n_trees=TREES, instance_features=features, pca_components=None, max_leaf_nodes=self.leaves, log_y=True
        )

    def fit(self, X: np.ndarray, y: np.ndarray) -> None:
        self.model.train(X, y[:, None])

    def predict(self, X: np.ndarray) -> object:
        return self.model.predict(X)

    def marginal(self, configurations: np.ndarray) -> object:
        return self.model.predict_marginalized(configurations)


class SmacMended(Smac):
    name, leaves = "SMAC3, leaves mended", None


PEERS: list[Any] = [ScikitLearn, ExtraTrees, Pyrfr, Smac, SmacMended]
