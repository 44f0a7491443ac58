//! A kit of checks that every implementation of values must pass.
