//! State of one decision: its step budget, and rarely needed parts.

use std::cell::OnceCell;

use crate::budget::Steps;
use crate::clause::context::Referred;
use crate::facets::cache::Cache;
use crate::program::Marker;
use crate::value::Value;

/// The state of one decision.
#[derive(Debug)]
pub(crate) struct Work<V> {
    pub(crate) steps: Steps,
    /// PERF: most decisions need none of it, and neither make nor drop it.
    rare: OnceCell<Box<Rare<V>>>,
}

/// State that few decisions need.
#[derive(Debug)]
struct Rare<V> {
    referred: Referred<V>,
    facets: Cache,
    /// The host rule before which all host rules were called, with the markers of those that failed.
    asked: Option<(u32, Vec<Marker>)>,
}

impl<V> Default for Rare<V> {
    fn default() -> Self {
        Self {
            referred: Referred::default(),
            facets: Cache::default(),
            asked: None,
        }
    }
}

impl<V> Default for Work<V> {
    #[inline]
    fn default() -> Self {
        Self {
            steps: Steps::default(),
            rare: OnceCell::new(),
        }
    }
}

impl<V> Work<V> {
    /// The state of a decision that does not ask the host rules before `rule` again, because they were evaluated before.
    /// `failed` are those in error.
    pub(crate) fn again(rule: u32, failed: Vec<Marker>) -> Self {
        Self {
            steps: Steps::default(),
            rare: OnceCell::from(Box::new(Rare {
                referred: Referred::default(),
                facets: Cache::default(),
                asked: Some((rule, failed)),
            })),
        }
    }

    /// The texts that facets have parsed.
    #[inline]
    pub(crate) fn facets(&self) -> &Cache {
        &self.rare.get_or_init(Box::default).facets
    }

    /// Returns the values that elements are compared with.
    #[inline]
    pub(crate) fn referred(&self) -> &Referred<V> {
        &self.rare.get_or_init(Box::default).referred
    }

    /// Makes the decision call host rules again: the arguments have changed.
    pub(crate) fn forget_asked(&mut self) {
        if let Some(rare) = self.rare.get_mut() {
            rare.asked = None;
        }
    }

    /// The marker of a host rule that was called before, if it failed; `None`: it was not called.
    #[inline]
    pub(crate) fn asked(&self, rule: u32) -> Option<impl Iterator<Item = &Marker>> {
        let (before, failed) = self.rare.get()?.asked.as_ref()?;
        (rule < *before).then(|| failed.iter().filter(move |marker| marker.rule == rule))
    }
}

impl<V: Value> Work<V> {
    /// Drops the values that elements are compared with: the request is another one, or may have changed.
    #[inline]
    pub(crate) fn forget_referred(&self) {
        if let Some(rare) = self.rare.get() {
            rare.referred.forget();
        }
    }
}
