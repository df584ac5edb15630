"""Benchmarks: ratios within one run, interleaved, as medians. Never a timed test."""
