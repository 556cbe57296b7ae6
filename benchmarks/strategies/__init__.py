"""All strategies of the package on the same problems."""
