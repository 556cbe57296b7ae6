"""Text from elsewhere, read with limits: scenario files, instances, features, quantities."""
