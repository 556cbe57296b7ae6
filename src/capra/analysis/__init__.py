"""What a history says: statistics, overtuning, comparisons."""
