//! The bundle file of a policy.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use bobcat_core::bundle::{Bundle, MAGIC, MAX_BUNDLE_BYTES};

use crate::Failure;

const COMPILE: &str = "compile it with `bobcat compile POLICY.yaml --output POLICY.bobcat`";

/// Reads the bundle file at `path`.
pub(crate) fn load(path: &Path) -> Result<Bundle, Failure> {
    let shown = path.display();
    let data = read(path).map_err(|error| format!("cannot read the policy `{shown}`: {error}"))?;
    if !data.starts_with(MAGIC) {
        return Err(format!("the policy `{shown}` is not a bundle; {COMPILE}"));
    }
    Bundle::from_bytes(&data).map_err(|error| format!("the bundle `{shown}` is refused: {error}"))
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let size = file.metadata()?.len().min(MAX_BUNDLE_BYTES);
    let mut data = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    file.take(MAX_BUNDLE_BYTES + 1).read_to_end(&mut data)?;
    Ok(data)
}
