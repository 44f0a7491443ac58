"""The intermediate representation (IR): the canonical, hashed form of a policy."""
