//! The fuzz targets' bodies, run briefly on seeded mutations: a broken one shows here, not in the next campaign.

#[cfg(test)]
mod bodies;
#[cfg(test)]
mod mutations;
#[cfg(test)]
mod questions;
#[cfg(test)]
mod seeds;
