"""The intermediate representation: what a policy means, canonical and hashed."""
