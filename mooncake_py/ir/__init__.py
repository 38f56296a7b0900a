"""The intermediate representation: nodes, operations, graph functions, text form, verifier."""
