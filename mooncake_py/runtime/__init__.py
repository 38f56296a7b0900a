"""What runs: derived rules, call sites, pullbacks."""
