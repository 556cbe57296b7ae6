def features(text: bytes) -> tuple[list[str], list[float]]:
    """Names and values of the features of DIMACS text. ValueError(message, line) if it is no formula."""
