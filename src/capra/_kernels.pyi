import numpy as np
from numpy.typing import NDArray

def hash_rows(x: NDArray[np.float64]) -> NDArray[np.uint64]:
    """One 64-bit hash per row of a float64 matrix; NaN equals NaN."""
