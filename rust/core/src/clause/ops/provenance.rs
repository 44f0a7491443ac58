//! `from`: the value came out of the task, or out of a result of the run.

use super::{Inside, OperandType, Operator, Prepare, operators};

operators! {
    "from" OperandType::Sources, Text, None, None, Prepare::Sources;
}
