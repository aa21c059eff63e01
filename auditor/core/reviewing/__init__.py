"""One review of a claim from what others publish: result files, logs and forks, each by its grade. Pure."""
