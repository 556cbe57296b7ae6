"""Where to look next: acquisition functions, candidates, and proposers built of both."""
