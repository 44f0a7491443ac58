//! The manifest of a bundle, read for `bobcat.bundle.load` without a decoder in Python.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use bobcat_core::bundle::manifest::Manifest;
use bobcat_core::program::Profile;

use crate::program::Program;

/// The digest, the profile and the epoch in a manifest; None for one that Python decodes: it is not canonical, or holds
/// host rules.
#[pyfunction]
#[pyo3(signature = (section, /))]
pub(crate) fn manifest_head(
    section: &Bound<'_, PyBytes>,
) -> Option<(String, &'static str, Option<i64>)> {
    let manifest = Manifest::parse(section.as_bytes()).ok()?;
    if manifest.has_host_rules {
        return None;
    }
    let profile = match manifest.profile {
        Profile::Strict => "strict",
        Profile::Lynx => "lynx",
    };
    Some((manifest.digest, profile, manifest.epoch))
}

/// Returns true if a manifest without host rules describes `bundle`, which was made from `ir`.
#[pyfunction]
#[pyo3(signature = (section, bundle, ir, /))]
pub(crate) fn is_manifest_of(
    section: &Bound<'_, PyBytes>,
    bundle: &Bound<'_, Program>,
    ir: &Bound<'_, PyBytes>,
) -> bool {
    Manifest::parse(section.as_bytes()).is_ok_and(|manifest| {
        !manifest.has_host_rules && manifest.describes(&bundle.get().bound.program, ir.as_bytes())
    })
}
