"""Shows people what their agents delivered and takes their answers: a package for each feature."""
