//! Bundle files: sections with digests, verified before anything is decoded.
//!
//! The format and the order of checks are those of `python/bobcat/bundle/file.py` and `load.py`; the tests compare both
//! readers on damaged files. This reader has no host rules and takes the strict profile only. It verifies digests, not
//! signatures: a bundle of unknown origin is its sender's policy.

pub mod manifest;

use std::fmt;

use sha2::{Digest as _, Sha256};

use crate::program::{Profile, Program};
use crate::regex::CacheBudget;
use crate::source::Source;
use manifest::Manifest;

/// The first bytes of a bundle.
pub const MAGIC: &[u8] = b"\x89BOBCAT\n";
/// The size limit of a bundle.
pub const MAX_BUNDLE_BYTES: u64 = 512 * MIB;
const FORMAT_VERSION: u16 = 1;
const MIB: u64 = 1 << 20;
const MAX_SECTIONS: u16 = 16;
const CRITICAL: u32 = 1;
const IR: &str = "ir";
const IR_DOMAIN: &[u8] = b"bobcat/ir/v1\0";
const MANIFEST: &str = "manifest";
const DIGEST_BYTES: usize = 32;

type Failure = String;

/// The bytes are not a bundle that can be evaluated here; the text has the reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BundleError(String);

impl fmt::Display for BundleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BundleError {}

/// A policy that was read from a bundle.
#[derive(Debug)]
pub struct Bundle {
    /// The program.
    pub program: Program,
    /// The digest of the policy, in hexadecimal.
    pub id: String,
}

impl Bundle {
    /// Reads the bytes of a bundle.
    ///
    /// # Errors
    /// They are no bundle, a damaged one, or one of another profile or with host rules.
    pub fn from_bytes(data: &[u8]) -> Result<Self, BundleError> {
        read(data).map_err(BundleError)
    }

    /// The policy with its monitored rules in force; `None` for a policy without any.
    ///
    /// # Errors
    /// The rules pass a limit together.
    pub fn monitored(&self) -> Result<Option<Self>, BundleError> {
        let Some(ir) = self.program.monitored_in_force() else {
            return Ok(None);
        };
        let id = hex(&digest(IR, &ir));
        let program = Program::from_layered_source(Source::new(ir), &CacheBudget::default())
            .map_err(|error| BundleError(error.to_string()))?;
        Ok(Some(Self { program, id }))
    }
}

fn read(data: &[u8]) -> Result<Bundle, Failure> {
    if !data.starts_with(MAGIC) {
        return Err("it is not a bundle".to_owned());
    }
    let Sections {
        manifest,
        ir,
        digest,
    } = unpack(data)?;
    let manifest = Manifest::parse(manifest)?;
    if manifest.digest != hex(digest) {
        return Err("the policy does not have the digest in the manifest".to_owned());
    }
    if manifest.profile != Profile::Strict {
        return Err(
            "it has the profile `lynx`, and only `strict` is evaluated without Python; `bobcat compile` has the profile `strict`".to_owned(),
        );
    }
    if manifest.has_host_rules {
        return Err(
            "it has host rules, which need Python; write them in the compiled subset and run `bobcat compile` without `--uncompiled callable`"
                .to_owned(),
        );
    }
    let program = Program::from_layered_source(Source::new(ir.to_vec()), &CacheBudget::default())
        .map_err(|error| error.to_string())?;
    if !manifest.describes(&program, ir) {
        return Err("the manifest does not describe the policy".to_owned());
    }
    Ok(Bundle {
        program,
        id: manifest.digest,
    })
}

/// The sections that a decision needs, and the digest of the policy.
struct Sections<'d> {
    manifest: &'d [u8],
    ir: &'d [u8],
    digest: &'d [u8],
}

fn unpack(data: &[u8]) -> Result<Sections<'_>, Failure> {
    let mut rest = data;
    if data.len() as u64 > MAX_BUNDLE_BYTES {
        return Err(format!("the file is larger than {MAX_BUNDLE_BYTES} bytes"));
    }
    let rows = table(&mut rest)?;
    let (mut manifest, mut policy) = (None, None);
    for row in rows {
        let length = usize::try_from(row.length).map_err(|_| truncated())?;
        let body = take(&mut rest, length)?;
        if digest(row.name, body) != row.digest {
            return Err(format!(
                "section `{}` does not have the digest in the table",
                row.name
            ));
        }
        match row.name {
            MANIFEST => manifest = Some(body),
            IR => policy = Some((body, row.digest)),
            name if max_section_bytes(name).is_none() && row.flags & CRITICAL != 0 => {
                return Err(format!(
                    "section `{name}` is critical and unknown to this version"
                ));
            }
            _ => {}
        }
    }
    let (ir, digest) = policy.ok_or("section `ir` is missing")?;
    let manifest = manifest.ok_or("section `manifest` is missing")?;
    Ok(Sections {
        manifest,
        ir,
        digest,
    })
}

/// A row of the section table.
struct Row<'d> {
    name: &'d str,
    flags: u32,
    length: u64,
    digest: &'d [u8],
}

/// Reads the table off the file: afterwards `rest` begins at the first section, and holds all of them and no more.
fn table<'d>(rest: &mut &'d [u8]) -> Result<Vec<Row<'d>>, Failure> {
    let whole = *rest;
    take(rest, MAGIC.len())?;
    let version = u16::from_be_bytes(fixed(rest)?);
    if version != FORMAT_VERSION {
        return Err(format!(
            "it has format {version}; this version reads format {FORMAT_VERSION}"
        ));
    }
    let count = u16::from_be_bytes(fixed(rest)?);
    if count > MAX_SECTIONS {
        return Err(format!(
            "it has {count} sections; the limit is {MAX_SECTIONS}"
        ));
    }
    let mut rows: Vec<Row<'d>> = Vec::with_capacity(count.into());
    for _ in 0..count {
        let row = row(rest)?;
        if rows.iter().any(|other| other.name == row.name) {
            return Err(format!("section `{}` is in the table twice", row.name));
        }
        rows.push(row);
    }
    let head = whole.get(..whole.len() - rest.len()).unwrap_or_default();
    if take(rest, DIGEST_BYTES)? != Sha256::digest(head).as_slice() {
        return Err("the section table does not have its digest".to_owned());
    }
    let total = rows
        .iter()
        .fold(0_u64, |total, row| total.saturating_add(row.length));
    match total.cmp(&(rest.len() as u64)) {
        std::cmp::Ordering::Equal => Ok(rows),
        std::cmp::Ordering::Greater => Err(truncated()),
        std::cmp::Ordering::Less => Err("bytes follow the last section".to_owned()),
    }
}

fn row<'d>(rest: &mut &'d [u8]) -> Result<Row<'d>, Failure> {
    let padded = take(rest, 16)?;
    let flags = u32::from_be_bytes(fixed(rest)?);
    let length = u64::from_be_bytes(fixed(rest)?);
    let digest = take(rest, DIGEST_BYTES)?;
    let end = padded
        .iter()
        .rposition(|byte| *byte != 0)
        .map_or(0, |last| last + 1);
    let name = padded
        .get(..end)
        .and_then(|name| std::str::from_utf8(name).ok());
    let name = name
        .filter(|name| is_identifier(name))
        .ok_or("a section has no valid name")?;
    if flags & !CRITICAL != 0 {
        return Err(format!("section `{name}` has unknown flags"));
    }
    if length > max_section_bytes(name).unwrap_or(MAX_BUNDLE_BYTES) {
        return Err(format!("section `{name}` is larger than its limit"));
    }
    Ok(Row {
        name,
        flags,
        length,
        digest,
    })
}

fn is_identifier(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// The size limit of a known section.
fn max_section_bytes(name: &str) -> Option<u64> {
    match name {
        MANIFEST => Some(16 * MIB),
        IR => Some(256 * MIB),
        "source_map" => Some(128 * MIB),
        "sources" => Some(64 * MIB),
        "signatures" => Some(MIB),
        _ => None,
    }
}

fn digest(name: &str, body: &[u8]) -> [u8; DIGEST_BYTES] {
    let mut hash = Sha256::new();
    if name == IR {
        hash.update(IR_DOMAIN);
    }
    hash.update(body);
    hash.finalize().into()
}

fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn truncated() -> Failure {
    "the file ends too early".to_owned()
}

/// Takes the next `count` bytes.
fn take<'d>(rest: &mut &'d [u8], count: usize) -> Result<&'d [u8], Failure> {
    let (taken, left) = rest.split_at_checked(count).ok_or_else(truncated)?;
    *rest = left;
    Ok(taken)
}

fn fixed<const N: usize>(rest: &mut &[u8]) -> Result<[u8; N], Failure> {
    let bytes = take(rest, N)?;
    bytes.try_into().map_err(|_| truncated())
}
