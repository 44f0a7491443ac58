//! Bundle files: sections with digests, verified before anything is decoded.
//!
//! The format and the order of checks are those of `python/bobcat/bundle/file.py` and `load.py`; the tests compare both
//! readers on damaged files. A hook has no host rules and evaluates the strict profile only.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use bobcat_core::program::{Profile, Program};
use bobcat_core::regex::CacheBudget;
use bobcat_core::source::Source;
use sha2::{Digest as _, Sha256};

use crate::Failure;
use crate::manifest::Manifest;

const MAGIC: &[u8] = b"\x89BOBCAT\n";
const FORMAT_VERSION: u16 = 1;
const MIB: u64 = 1 << 20;
const MAX_BUNDLE_BYTES: u64 = 512 * MIB;
const MAX_SECTIONS: u16 = 16;
const CRITICAL: u32 = 1;
const IR: &str = "ir";
const IR_DOMAIN: &[u8] = b"bobcat/ir/v1\0";
const MANIFEST: &str = "manifest";
const DIGEST_BYTES: usize = 32;
const COMPILE: &str = "compile it with `bobcat compile POLICY.yaml --output POLICY.bobcat`";

/// A policy that was read from a bundle file.
pub(crate) struct Bundle {
    /// The program.
    pub(crate) program: Program,
    /// The digest of the policy, in hexadecimal.
    pub(crate) id: String,
}

impl Bundle {
    /// The policy with its monitored rules in force; `None` for a policy without any.
    pub(crate) fn monitored(&self) -> Result<Option<Self>, Failure> {
        let Some(ir) = self.program.monitored_in_force() else {
            return Ok(None);
        };
        let id = hex(&digest(IR, &ir));
        let program = Program::from_layered_source(Source::new(ir), &CacheBudget::default())
            .map_err(|error| error.to_string())?;
        Ok(Some(Self { program, id }))
    }
}

/// Reads the bundle file at `path`.
pub(crate) fn load(path: &Path) -> Result<Bundle, Failure> {
    let shown = path.display();
    let data = read(path).map_err(|error| format!("cannot read the policy `{shown}`: {error}"))?;
    if !data.starts_with(MAGIC) {
        return Err(format!("the policy `{shown}` is not a bundle; {COMPILE}"));
    }
    from_bytes(&data).map_err(|failure| format!("the bundle `{shown}` is refused: {failure}"))
}

fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let size = file.metadata()?.len().min(MAX_BUNDLE_BYTES);
    let mut data = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    file.take(MAX_BUNDLE_BYTES + 1).read_to_end(&mut data)?;
    Ok(data)
}

fn from_bytes(data: &[u8]) -> Result<Bundle, Failure> {
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
        return Err(format!(
            "it has the profile `lynx`, and a hook evaluates `strict` only; {COMPILE}"
        ));
    }
    if manifest.has_host_rules {
        return Err(format!(
            "it has host rules, which need Python; write them in the compiled subset and {COMPILE}, without `--uncompiled callable`"
        ));
    }
    let program = Program::from_layered_source(Source::new(ir.to_vec()), &CacheBudget::default())
        .map_err(|error| error.to_string())?;
    let describes = manifest.is_header_of(ir, program.layers_bytes(), program.memory_bytes())
        && program.profile() == manifest.profile
        && program.host_count() == 0
        && u64::try_from(program.rule_count()) == Ok(manifest.rule_count);
    if !describes {
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
