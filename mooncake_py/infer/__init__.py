"""Abstract types, activity and memory: what is known of every value before it is differentiated."""
