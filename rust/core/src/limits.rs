//! Every cap of the core. Passing one is a coded error that names it.

/// Bits of an integer read from a request, or standing in a policy.
pub const MAX_INT_BITS: u64 = 4096;

/// Bytes of the IR of one policy.
pub const MAX_IR_BYTES: usize = 256 * 1024 * 1024;

/// Rules of one policy.
pub const MAX_RULES: usize = 100_000;

/// Layers of one policy.
pub const MAX_LAYERS: usize = 16;

/// Bytes of the name of a layer.
pub const MAX_LAYER_NAME: usize = 64;

/// Expression nodes and constants of one policy.
pub const MAX_NODES: usize = 4_000_000;

/// Depth of an expression.
pub const MAX_EXPR_DEPTH: usize = 40;

/// Depth of a constant.
pub const MAX_CONST_DEPTH: usize = 16;

/// Maximum nesting depth of the tests of an operator.
pub const MAX_TEST_DEPTH: usize = 4;

/// Most that a clause inside of `any`, `all` or `none` reads of the value at another path: items of a list, bytes of a
/// string.
pub const MAX_REF_IN_ELEMENTS: usize = 1000;

/// Keys of one path.
pub const MAX_PATH_KEYS: usize = 64;

/// Maximum number of approvals that a rule may need.
pub const MAX_APPROVALS_NEEDED: u32 = 100;

/// Obligations of one rule.
pub const MAX_OBLIGATIONS: usize = 16;

/// Bytes of one string of a policy.
pub const MAX_STRING_BYTES: usize = 1024 * 1024;

/// Code points of one pattern.
pub const MAX_PATTERN_CHARS: usize = 1000;

/// Bytes of all distinct patterns of one policy together.
pub const MAX_PATTERN_BYTES_TOTAL: usize = 32 * 1024 * 1024;

/// Cost of all patterns of one policy together, each as often as it is used: a pattern's size with its repetitions written
/// out. Automata take some 20 bytes for each.
pub const MAX_PATTERN_COST_TOTAL: usize = 16_000_000;

/// Bytes of the lazily built states that all automata of one program keep between searches.
pub const MAX_CACHE_BYTES: usize = 64 * 1024 * 1024;

/// Bytes of one request given as JSON.
pub const MAX_REQUEST_BYTES: usize = 64 * 1024 * 1024;

/// Depth of one request given as JSON.
pub const MAX_REQUEST_DEPTH: usize = 128;

/// Values of one request given as JSON; keys are not counted.
pub const MAX_REQUEST_VALUES: usize = 1_000_000;

/// Digits of one integer of a JSON text.
pub const MAX_INT_DIGITS: usize = 10_000;

/// Depth of the code of a function: expressions and statements in one another.
pub const MAX_CODE_DEPTH: usize = 100;

/// Nodes of the code of one function.
pub const MAX_CODE_NODES: usize = 20_000;

/// Locals of one function.
pub const MAX_SLOTS: usize = 1_000;

/// Depth of the JSON of one policy: two levels for each of an expression and of a constant, four at most for one of code,
/// and the frame around them: more than the tests of expressions need.
pub const MAX_IR_DEPTH: usize = 4 * MAX_CODE_DEPTH + 2 * MAX_CONST_DEPTH + 8;

/// Steps of one decision, over all its clauses and functions: elements read, long texts, steps of functions. A step takes
/// 20 to 100 ns, so that a decision ends well below a second.
pub const MAX_DECISION_STEPS: u64 = 4_000_000;

/// Bytes of a text that are read without taking a step.
pub const FREE_TEXT: usize = 1024;

/// Bytes of a text of which `length` counts the characters without taking a step: they take as long as one.
pub const FREE_COUNT: usize = 16 * 1024;

/// Steps of one evaluation of a function.
pub const MAX_SCRIPT_STEPS: u64 = 1_000_000;

/// Bytes of all values that one evaluation of a function makes.
pub const MAX_SCRIPT_BYTES: usize = 16 * 1024 * 1024;

/// Bytes of a text that is short enough to be searched by every test of a function.
pub const LONG_TEXT: usize = 64 * 1024;

/// Elements of a list that is short enough to be gone over without an interpreter.
pub const LONG_LIST: usize = 4096;

/// Containers in one another that a function makes or compares.
pub const MAX_SCRIPT_DEPTH: u16 = 100;

/// Bytes of a shell command line: one less than Linux passes as one argument.
pub const MAX_SHELL_BYTES: usize = 131_071;

/// Bytes of a text whose links are found.
pub const MAX_LINKS_TEXT: usize = 1024 * 1024;

/// Links of a text.
pub const MAX_LINKS: usize = 1000;

/// Bytes of all links of a text.
pub const MAX_LINKS_BYTES: usize = 256 * 1024;

/// Bytes of a statement of SQL.
pub const MAX_SQL_BYTES: usize = 65_536;

/// Levels of parentheses of a statement of SQL.
pub const MAX_SQL_DEPTH: usize = 64;

/// Tables, and functions, that a statement of SQL names.
pub const MAX_SQL_NAMES: usize = 256;

/// Depth of groups and subshells of a shell command line.
pub const MAX_SHELL_GROUPS: usize = 16;

/// Redirections of one group of a shell command line.
pub const MAX_GROUP_REDIRECTIONS: usize = 4;

/// Depth of launchers in front of one another, texts for `sh -c` among them.
pub const MAX_LAUNCHERS: u8 = 8;

/// Commands of a shell command line, started ones included.
pub const MAX_SHELL_COMMANDS: usize = 20_000;

/// Definitions of memory of one policy.
pub const MAX_DEFINITIONS: usize = 1_000;

/// Sources among them: each is one bit of a mask, and the task is another.
pub const MAX_SOURCES: usize = 63;

/// Fields of one source.
pub const MAX_SOURCE_FIELDS: usize = 64;

/// Depth of a formula of past events.
pub const MAX_FORMULA_DEPTH: usize = 16;

/// Operators and atoms of one formula.
pub const MAX_FORMULA_NODES: usize = 100;

/// Calls of one run that its state knows.
pub const MAX_RUN_CALLS: usize = 100_000;

/// Calls that one window holds.
pub const MAX_WINDOW_CALLS: usize = 10_000;

/// Values from sources that the state of one run holds.
pub const MAX_RUN_VALUES: usize = 100_000;

/// Bytes of arguments that the state keeps of one call until its result is there.
pub const MAX_KEPT_BYTES: usize = 1024 * 1024;

/// Bytes of the snapshot of one state.
pub const MAX_STATE_BYTES: usize = 64 * 1024 * 1024;
