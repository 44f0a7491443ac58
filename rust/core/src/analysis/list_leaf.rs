//! Checks of lists.

use crate::json::Json;

use super::budget::Stop;
use super::dd::{Dd, FALSE};
use super::leaf::{Tested, is_whole};
use super::sample;
use super::space::Space;

impl Space<'_> {
    /// The result of a check of a list.
    pub(super) fn of_list(&mut self, slot: usize, tested: Tested<'_>) -> Result<Dd, Stop> {
        let other = match tested.check.op.name {
            "eq" if is_whole(tested.check) => self.or_error(slot, tested, FALSE)?,
            "length" => self.of_length(slot, tested)?,
            "empty" => self.of_count(slot, tested.check, |count| {
                let items = if count == 0 {
                    Vec::new()
                } else {
                    vec![Json::Null]
                };
                sample::result_of(tested.test, &sample::list(items))
            })?,
            "contains" | "contains_any" | "contains_all" | "any" | "all" | "none" | "first"
            | "subset_of" | "any_of" | "all_of" | "not" => {
                self.uncertain(tested, "a clause tests the elements of a list")?
            }
            _ => sample::result_of(tested.test, &sample::list(Vec::new())),
        };
        let (lists, bits) = match self.slots.get(slot) {
            Some(here) => (here.lists.clone(), here.list),
            None => return Ok(FALSE),
        };
        let mut runs = vec![(0, other)];
        runs.extend(
            (1..).zip(
                lists
                    .iter()
                    .map(|list| sample::result_of(tested.test, list)),
            ),
        );
        self.dd.switch(bits.var, bits.count, &runs)
    }
}
