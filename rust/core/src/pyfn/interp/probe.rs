//! Expressions of a function evaluated on their own: the analysis of policies asks what they are for a value that it made.

use super::env::Env;
use super::value::{Budget, Val};
use super::{Haystacks, Interp, Locals};
use crate::pyfn::ast::Code;
use crate::pyfn::consts::PyConst;

/// What a local holds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Bound<'p> {
    /// The value of an expression, in which earlier locals may occur.
    Code(&'p Code),
    Const(&'p PyConst),
    /// A value that is not followed.
    Other,
}

/// The truth of `code` with these locals, bound one after the other; `None`: it raises.
pub(crate) fn truth<'p, W: Env>(
    code: &'p Code,
    (locals, bound): (usize, &[(u32, Bound<'p>)]),
    env: &mut W,
) -> Option<bool> {
    let mut interp = interp(locals, env);
    interp.bind(bound)?;
    interp.truth(code).ok()
}

/// Returns true if `code` has a value with these locals, false if it raises.
pub(crate) fn has_value<'p, W: Env>(
    code: &'p Code,
    (locals, bound): (usize, &[(u32, Bound<'p>)]),
    env: &mut W,
) -> bool {
    let mut interp = interp(locals, env);
    interp.bind(bound).is_some() && interp.eval(code).is_ok()
}

fn interp<'m, 'p, W: Env>(locals: usize, env: &'m mut W) -> Interp<'m, 'p, W> {
    let left = env.fuel_left();
    Interp {
        env,
        locals: Locals::new(locals),
        budget: Budget::within(left),
        haystacks: Haystacks::default(),
    }
}

impl<'p, W: Env> Interp<'_, 'p, W> {
    fn bind(&mut self, bound: &[(u32, Bound<'p>)]) -> Option<()> {
        for (slot, what) in bound {
            let value = match what {
                Bound::Code(code) => self.eval(code).ok()?,
                Bound::Const(constant) => Val::constant(constant),
                Bound::Other => continue,
            };
            self.locals.set(*slot, Some(value));
        }
        Some(())
    }
}
