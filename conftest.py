pytest_plugins = ["schedproof.pytest_plugin"]
