//! Addresses of mail: one plain address, `local@domain`.

use super::{Undecidable, host};

/// Longest address, in bytes.
const MAX_TEXT: usize = 320;

/// A parsed address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Email {
    /// The part before the `@`, as written.
    pub local: String,
    /// The domain, in its canonical form.
    pub domain: String,
}

/// Parses one address without a display name, quotes or comments.
///
/// # Errors
/// The text is another one.
pub fn parse(text: &str) -> Result<Email, Undecidable> {
    if text.len() > MAX_TEXT {
        return Err(bad(MAX_TEXT, "the text is longer than an address"));
    }
    let Some((local, domain)) = text.split_once('@') else {
        return Err(bad(text.len(), "`@` is missing"));
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-/=?^_`{|}~.".contains(&byte);
    if let Some(at) = local.bytes().position(|byte| !plain(byte)) {
        return Err(bad(
            at,
            "an address is written without a name, quotes and spaces",
        ));
    }
    if local.is_empty() || local.len() > 64 {
        return Err(bad(0, "the part before `@` has 1 to 64 characters"));
    }
    if local.starts_with('.') || local.ends_with('.') || local.contains("..") {
        return Err(bad(
            0,
            "the part before `@` has a dot at an end, or two together",
        ));
    }
    // Programs route these on to other domains.
    if let Some(at) = local.find(['%', '!']) {
        return Err(bad(at, "some programs take this for a route"));
    }
    let at = local.len() + 1;
    if domain.ends_with('.') || host::ends_in_number(domain) {
        return Err(bad(at, "the part after `@` is no domain"));
    }
    let domain = host::parse(domain, at)
        .map_err(|error| Undecidable::new("email_domain", error.at, error.detail))?;
    if domain.contains('_') {
        return Err(bad(at, "the part after `@` is no domain"));
    }
    Ok(Email {
        local: local.to_owned(),
        domain,
    })
}

fn bad(at: usize, detail: &'static str) -> Undecidable {
    Undecidable::new("email_form", at, detail)
}
