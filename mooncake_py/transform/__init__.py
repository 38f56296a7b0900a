"""The transform: every statement into forward and reverse fragments, assembled into two functions."""
