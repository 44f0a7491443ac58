//! Addresses and networks: what `ip` and `cidr` accept, and the classes of addresses.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use super::Undecidable;

/// Longest text of an address or a network, in bytes.
const MAX_TEXT: usize = 64;

/// A parsed address. An IPv4 address mapped into IPv6 is the IPv4 address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The address.
    pub ip: IpAddr,
    /// Its canonical text (RFC 5952 for IPv6).
    pub text: String,
}

/// A parsed network: an address without host bits, and the length of its prefix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Network {
    /// The first address.
    pub ip: IpAddr,
    /// The length of the prefix, in bits.
    pub prefix: u8,
    /// The canonical text, with the prefix.
    pub text: String,
}

/// Parses an address: four decimal numbers without leading zeros, or an IPv6 address without a zone.
///
/// # Errors
/// The text is another one.
pub fn parse(text: &str) -> Result<Address, Undecidable> {
    let ip = literal(text)?;
    Ok(Address {
        ip,
        text: ip.to_string(),
    })
}

/// Parses a network in prefix notation, `10.0.0.0/8`, without host bits.
///
/// # Errors
/// The text is another one.
pub fn parse_network(text: &str) -> Result<Network, Undecidable> {
    let Some((address, bits)) = text.split_once('/') else {
        return Err(bad(text.len(), "a network has a prefix: `10.0.0.0/8`"));
    };
    let at = address.len() + 1;
    let written = strict(address)?;
    let width = if written.is_ipv4() { 32 } else { 128 };
    let plain = !bits.is_empty()
        && bits.bytes().all(|byte| byte.is_ascii_digit())
        && (bits == "0" || !bits.starts_with('0'));
    let mut prefix = match bits.parse::<u8>() {
        Ok(prefix) if plain && prefix <= width => prefix,
        _ => return Err(bad(at, format!("the prefix is a number up to {width}"))),
    };
    if masked(written, prefix) != bits_of(written) {
        return Err(bad(0, "the address has bits behind the prefix"));
    }
    let ip = written.to_canonical();
    if ip.is_ipv4() && written.is_ipv6() {
        // A network within the mapped addresses is one of IPv4.
        prefix = match prefix.checked_sub(96) {
            Some(prefix) => prefix,
            None => return Err(bad(at, "the network holds IPv4 addresses and others")),
        };
    }
    Ok(Network {
        ip,
        prefix,
        text: format!("{ip}/{prefix}"),
    })
}

/// Parses what `within` takes: a network, or an address, which is a network of one.
#[must_use]
pub fn parse_range(text: &str) -> Option<(IpAddr, u8)> {
    if text.contains('/') {
        let network = parse_network(text).ok()?;
        return Some((network.ip, network.prefix));
    }
    let ip = literal(text).ok()?;
    Some((ip, if ip.is_ipv4() { 32 } else { 128 }))
}

/// Returns true if a network of a prefix lies within another one.
#[must_use]
pub fn is_within((inner, bits): (IpAddr, u8), (outer, prefix): (IpAddr, u8)) -> bool {
    inner.is_ipv4() == outer.is_ipv4() && bits >= prefix && masked(inner, prefix) == bits_of(outer)
}

/// The address of a canonical text, or of one that [`parse`] accepts.
///
/// # Errors
/// The text is another one.
pub fn literal(text: &str) -> Result<IpAddr, Undecidable> {
    strict(text).map(|ip| ip.to_canonical())
}

fn strict(text: &str) -> Result<IpAddr, Undecidable> {
    if text.len() > MAX_TEXT {
        return Err(bad(MAX_TEXT, "the text is longer than an address"));
    }
    if let Some(at) = text.find('%') {
        return Err(bad(at, "the meaning of a zone depends on the machine"));
    }
    if let Ok(ip) = text.parse::<IpAddr>() {
        return Ok(ip);
    }
    let at = text
        .bytes()
        .position(|byte| !byte.is_ascii_hexdigit() && !matches!(byte, b'.' | b':'))
        .unwrap_or(0);
    Err(bad(at, "write four decimal numbers, or an IPv6 address"))
}

fn bits_of(ip: IpAddr) -> u128 {
    match ip {
        IpAddr::V4(ip) => ip.to_bits().into(),
        IpAddr::V6(ip) => ip.to_bits(),
    }
}

/// The bits of the prefix of an address, with zeros behind them.
fn masked(ip: IpAddr, prefix: u8) -> u128 {
    let width = if ip.is_ipv4() { 32 } else { 128 };
    let dropped = u32::from(width - prefix.min(width));
    bits_of(ip)
        .checked_shr(dropped)
        .and_then(|bits| bits.checked_shl(dropped))
        .unwrap_or(0)
}

fn bad(at: usize, detail: impl Into<String>) -> Undecidable {
    Undecidable::new("ip_form", at, detail)
}

/// The addresses of services that give a machine's credentials to every process on it.
const METADATA: [IpAddr; 5] = [
    IpAddr::V4(Ipv4Addr::new(169, 254, 169, 254)),
    IpAddr::V4(Ipv4Addr::new(169, 254, 170, 2)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
];

/// Networks of IPv4 that are not those of public hosts: the special-purpose registry, multicast, the reserved rest.
const SPECIAL_V4: [(Ipv4Addr, u8); 15] = [
    (Ipv4Addr::new(0, 0, 0, 0), 8),
    (Ipv4Addr::new(10, 0, 0, 0), 8),
    (Ipv4Addr::new(100, 64, 0, 0), 10),
    (Ipv4Addr::new(127, 0, 0, 0), 8),
    (Ipv4Addr::new(169, 254, 0, 0), 16),
    (Ipv4Addr::new(172, 16, 0, 0), 12),
    (Ipv4Addr::new(192, 0, 0, 0), 24),
    (Ipv4Addr::new(192, 0, 2, 0), 24),
    (Ipv4Addr::new(192, 88, 99, 0), 24),
    (Ipv4Addr::new(192, 168, 0, 0), 16),
    (Ipv4Addr::new(198, 18, 0, 0), 15),
    (Ipv4Addr::new(198, 51, 100, 0), 24),
    (Ipv4Addr::new(203, 0, 113, 0), 24),
    (Ipv4Addr::new(224, 0, 0, 0), 4),
    (Ipv4Addr::new(240, 0, 0, 0), 4),
];

/// The first of the global unicast addresses of IPv6.
const UNICAST: Ipv6Addr = Ipv6Addr::new(0x2000, 0, 0, 0, 0, 0, 0, 0);

/// Networks within the global unicast addresses of IPv6 that are not those of public hosts.
const SPECIAL_V6: [(Ipv6Addr, u8); 3] = [
    (Ipv6Addr::new(0x2001, 0, 0, 0, 0, 0, 0, 0), 23),
    (Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 0), 32),
    (Ipv6Addr::new(0x3fff, 0, 0, 0, 0, 0, 0, 0), 20),
];

/// Networks at whose ends the class of an address can change: between these ends all addresses are private, or loopback, and
/// so on, or none is.
#[must_use]
pub fn classes() -> Vec<(IpAddr, u8)> {
    let metadata = METADATA.iter().filter_map(|ip| match ip {
        IpAddr::V4(ip) => Some((*ip, 32)),
        IpAddr::V6(_) => None,
    });
    let v4: Vec<(Ipv4Addr, u8)> = SPECIAL_V4.into_iter().chain(metadata).collect();
    // The prefixes behind which an IPv6 address carries one of IPv4, and the number of bits after that.
    let carriers: [(u128, u8); 4] = [
        (0, 0),
        (0xffff << 32, 0),
        (0x64_ff9b << 96, 0),
        (0x2002 << 112, 80),
    ];
    let mut found: Vec<(IpAddr, u8)> = v4
        .iter()
        .map(|(ip, prefix)| ((*ip).into(), *prefix))
        .collect();
    for (carrier, behind) in carriers {
        let own = (Ipv4Addr::UNSPECIFIED, 0);
        for (ip, prefix) in [own].iter().chain(&v4) {
            let bits = carrier | u128::from(ip.to_bits()) << behind;
            found.push((Ipv6Addr::from_bits(bits).into(), 96 - behind + prefix));
        }
    }
    let v6 = |ip: Ipv6Addr, prefix: u8| (IpAddr::V6(ip), prefix);
    found.extend(SPECIAL_V6.map(|(ip, prefix)| v6(ip, prefix)));
    found.extend([
        // Of `::/96`, the first 65,536 addresses carry none.
        v6(Ipv6Addr::UNSPECIFIED, 112),
        v6(Ipv6Addr::LOCALHOST, 128),
        v6(Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 0), 10),
        v6(UNICAST, 3),
    ]);
    found.extend(METADATA.map(|ip| (ip, if ip.is_ipv4() { 32 } else { 128 })));
    found
}

/// The IPv4 addresses that an address stands for: itself, mapped, or those that NAT64 and 6to4 carry.
fn v4_of(ip: IpAddr) -> Option<Ipv4Addr> {
    let ip = match ip {
        IpAddr::V4(ip) => return Some(ip),
        IpAddr::V6(ip) => ip,
    };
    let [a, b, c, d, e, f, g, h] = ip.segments();
    let of = |high: u16, low: u16| Ipv4Addr::from_bits(u32::from(high) << 16 | u32::from(low));
    match [a, b, c, d, e, f] {
        [0, 0, 0, 0, 0, 0] if g != 0 => Some(of(g, h)),
        [0, 0, 0, 0, 0, 0xffff] | [0x64, 0xff9b, 0, 0, 0, 0] => Some(of(g, h)),
        [0x2002, ..] => Some(of(b, c)),
        _ => None,
    }
}

/// Returns true if an address is not one of a public host: private, loopback, link-local, shared, metadata, documentation,
/// multicast or reserved. An address that carries an IPv4 address has its class.
#[must_use]
pub fn is_private(ip: IpAddr) -> bool {
    if is_metadata(ip) {
        return true;
    }
    if let Some(ip) = v4_of(ip) {
        let ip = IpAddr::V4(ip);
        let within = |(network, prefix): &(Ipv4Addr, u8)| {
            is_within((ip, 32), (IpAddr::V4(*network), *prefix))
        };
        return SPECIAL_V4.iter().any(within);
    }
    let unicast = (UNICAST.into(), 3);
    let within =
        |(network, prefix): &(Ipv6Addr, u8)| is_within((ip, 128), (IpAddr::V6(*network), *prefix));
    !is_within((ip, 128), unicast) || SPECIAL_V6.iter().any(within)
}

/// Returns true if a network holds an address that is not one of a public host.
#[must_use]
pub fn holds_private((ip, prefix): (IpAddr, u8)) -> bool {
    if is_private(ip) {
        return true;
    }
    // The first address is public, so a special network can only lie behind it.
    let inside = |other: IpAddr, bits: u8| is_within((other, bits), (ip, prefix));
    SPECIAL_V4.iter().any(|&(other, bits)| inside(other.into(), bits))
        || SPECIAL_V6.iter().any(|&(other, bits)| inside(other.into(), bits))
        || METADATA
            .iter()
            .any(|&other| inside(other, if other.is_ipv4() { 32 } else { 128 }))
        // Of 6to4 and NAT64 only networks below one IPv4 address are public.
        || (ip.is_ipv6() && prefix < 16)
        || (v4_of(ip).is_some() && ip.is_ipv6() && prefix < if is_6to4(ip) { 48 } else { 128 })
}

fn is_6to4(ip: IpAddr) -> bool {
    matches!(ip, IpAddr::V6(ip) if ip.segments().first() == Some(&0x2002))
}

/// Returns true for a loopback address.
#[must_use]
pub fn is_loopback(ip: IpAddr) -> bool {
    match v4_of(ip) {
        Some(ip) => ip.is_loopback(),
        None => ip.is_loopback(),
    }
}

/// Returns true for a link-local address.
#[must_use]
pub fn is_link_local(ip: IpAddr) -> bool {
    match (v4_of(ip), ip) {
        (Some(ip), _) => ip.is_link_local(),
        (None, IpAddr::V6(ip)) => ip.is_unicast_link_local(),
        (None, IpAddr::V4(_)) => false,
    }
}

/// Returns true for the address of a metadata service.
#[must_use]
pub fn is_metadata(ip: IpAddr) -> bool {
    METADATA.contains(&v4_of(ip).map_or(ip, IpAddr::V4))
}
