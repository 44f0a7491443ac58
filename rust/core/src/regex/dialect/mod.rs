//! Parsers of the two pattern dialects.

pub(crate) mod class;
pub(crate) mod cursor;
pub(crate) mod parser;
pub(crate) mod python;
pub(crate) mod python_class;
pub(crate) mod re2;
pub(crate) mod re2_class;
pub(crate) mod re2_names;
pub(crate) mod stack;
