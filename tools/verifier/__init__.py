"""The independent verifier: the rules of docs/spec that an auditor needs, sharing no code with the implementation."""
