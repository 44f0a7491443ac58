//! Building the index of the rules that one tool can meet: by guard. Made when the first request asks for it.

use std::borrow::Cow;

use super::cheap;
use super::drafts::Drafts;
use super::fewer;
use super::guard::{self, Guards};
use crate::expr::Part;
use crate::program::rows::{Row, Rows};
use crate::program::segment::{Segment, Watch};
use crate::program::veto::{AT_ONCE, Veto};
use crate::program::{Body, Listing, Profile, Program, Verdict};

/// Segments of fewer rules are judged rule by rule: an index would cost more than it saves.
const SMALL: usize = 4;
/// So many rules that any tool can meet have a row among those of each tool, too. PERF: two lists that are walked at
/// once take a queue, 400 instructions.
const COPIED: usize = 8;

impl Program {
    /// The rules that are about `tool` only, and their index; `None` when there is none.
    #[inline]
    pub(crate) fn segment(&self, tool: &str) -> Option<&Segment> {
        self.tools
            .get(tool)
            .map(|listing| self.indexed(listing, true))
    }

    /// The rules that any tool can meet, and their index.
    #[inline]
    pub(crate) fn generic(&self) -> &Segment {
        self.indexed(&self.generic, false)
    }

    #[inline]
    pub(super) fn indexed<'p>(&'p self, listing: &'p Listing, tool_known: bool) -> &'p Segment {
        match listing.segment.get() {
            Some(segment) => segment,
            None => self.index_once(listing, tool_known),
        }
    }

    #[cold]
    fn index_once<'p>(&'p self, listing: &'p Listing, tool_known: bool) -> &'p Segment {
        listing
            .segment
            .get_or_init(|| Box::new(self.index(listing, tool_known)))
    }

    fn index(&self, listing: &Listing, tool_known: bool) -> Segment {
        let mut segment = self.found(listing, tool_known);
        if !segment.is_plain() {
            return segment;
        }
        let mut rules = Cow::Borrowed(segment.rules.as_slice());
        if tool_known {
            let any = self.generic();
            segment.complete = any.is_plain() && any.rules.len() <= COPIED;
            if segment.complete && !any.rules.is_empty() {
                rules.to_mut().extend(&any.rules);
                rules.to_mut().sort_unstable();
            }
        }
        segment.rows = Rows::new(rules.iter().filter_map(|&rule| self.row(rule)));
        segment
    }

    /// A rule of a plain segment.
    fn row(&self, index: u32) -> Option<Row<'_>> {
        let rule = self.rules.get(index as usize)?;
        let words = match &rule.body {
            Body::Match(body) if rule.verdict != Verdict::Transform => body.cheap.get(),
            Body::Match(_) | Body::Host(_) | Body::Function(_) => None,
        };
        Some(Row {
            rule: index,
            permits: rule.verdict.permits(),
            words: words.map_or(&[], AsRef::as_ref),
        })
    }

    fn found(&self, listing: &Listing, tool_known: bool) -> Segment {
        let (from, to) = listing.rules;
        let rules = self
            .listed
            .get(from as usize..to as usize)
            .unwrap_or_default();
        if self.profile == Profile::Strict {
            for &rule in rules {
                if let Some(Body::Match(body)) =
                    self.rules.get(rule as usize).map(|rule| &rule.body)
                {
                    body.cheap
                        .get_or_init(|| cheap::cheap(self, self.written(body), tool_known));
                }
            }
        }
        if rules.len() < SMALL || self.profile == Profile::Lynx {
            return Segment {
                rules: rules.to_vec(),
                always: (0, rules.len() as u32),
                ..Segment::default()
            };
        }
        self.guarded(rules, tool_known)
    }

    fn guarded(&self, rules: &[u32], tool_known: bool) -> Segment {
        let matches: Vec<(u32, Option<Part<'_>>)> = rules
            .iter()
            .map(|&rule| {
                let body = self.rules.get(rule as usize).map(|rule| &rule.body);
                match body {
                    Some(Body::Match(body)) => (rule, Some(self.written(body))),
                    Some(Body::Host(_) | Body::Function(_)) | None => (rule, None),
                }
            })
            .collect();
        let exprs: Vec<Part<'_>> = matches.iter().filter_map(|(_, expr)| *expr).collect();
        let guards = Guards::new(self, tool_known, &exprs);
        let mut always = Vec::new();
        let mut drafts = Drafts::new(self);
        let all = matches
            .iter()
            .map(|(_, expr)| expr.map_or_else(Vec::new, |expr| guards.all(expr)));
        let chosen = fewer::choose(self, all.collect());
        for ((rule, expr), guard) in matches.into_iter().zip(chosen) {
            if let Some(watches) = self.watches(rule) {
                drafts.watch(rule, watches);
                continue;
            }
            match expr.zip(guard) {
                Some((expr, guard)) => drafts.add(rule, expr, &guard.clauses),
                None => always.push(rule),
            }
        }
        let veto = self.veto(&always);
        let mut segment = drafts.finish(always);
        segment.veto = veto;
        segment
    }

    /// What a function is watched by.
    fn watches(&self, rule: u32) -> Option<&[Watch]> {
        match &self.rules.get(rule as usize)?.body {
            Body::Function(function) => function.watches.as_deref(),
            Body::Match(_) | Body::Host(_) => None,
        }
    }

    /// What rules out some of the rules that are judged every time; `None`: they are few, or nothing does.
    fn veto(&self, always: &[u32]) -> Option<Box<Veto>> {
        if always.len() <= 2 * AT_ONCE {
            return None;
        }
        let mut drafts = Drafts::exact(self);
        let mut some = false;
        for (place, &rule) in (0..).zip(always).skip(AT_ONCE) {
            if let Some(Body::Match(body)) = self.rules.get(rule as usize).map(|rule| &rule.body) {
                let clauses = guard::vetoes(self.written(body));
                some |= !clauses.is_empty();
                drafts.add_veto(place, clauses);
            }
        }
        some.then(|| Box::new(drafts.finish_veto(always.len())))
    }
}
