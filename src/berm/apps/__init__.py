"""What people touch: command line, figures, benchmarks."""
