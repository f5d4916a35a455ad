"""Runs in the cluster that they judge: a Job of the harness's own image, by `schedproof submit` or by Sonobuoy."""
