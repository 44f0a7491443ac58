//! Every cap of the core. Passing one is a coded error that names it.

/// Bits of an integer read from a request, or standing in a policy.
pub const MAX_INT_BITS: u64 = 4096;
/// Bytes of the IR of one policy.
pub const MAX_IR_BYTES: usize = 256 * 1024 * 1024;
/// Rules of one policy.
pub const MAX_RULES: usize = 100_000;
/// Expression nodes and constants of one policy.
pub const MAX_NODES: usize = 4_000_000;
/// Depth of an expression.
pub const MAX_EXPR_DEPTH: usize = 40;
/// Depth of a constant.
pub const MAX_CONST_DEPTH: usize = 16;
/// Keys of one path.
pub const MAX_PATH_KEYS: usize = 64;
/// Bytes of one string of a policy.
pub const MAX_STRING_BYTES: usize = 1024 * 1024;
/// Code points of one pattern.
pub const MAX_PATTERN_CHARS: usize = 1000;
/// Bytes of all distinct patterns of one policy together.
pub const MAX_PATTERN_BYTES_TOTAL: usize = 32 * 1024 * 1024;
/// Bytes of one request given as JSON.
pub const MAX_REQUEST_BYTES: usize = 64 * 1024 * 1024;
/// Depth of one request given as JSON.
pub const MAX_REQUEST_DEPTH: usize = 128;
/// Depth of the JSON of one policy: two levels for each of an expression and of a constant, and the frame around them.
pub const MAX_IR_DEPTH: usize = 2 * (MAX_EXPR_DEPTH + MAX_CONST_DEPTH) + 8;
