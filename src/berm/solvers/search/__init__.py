"""Lists of pairs of grains, kept while they hold."""
