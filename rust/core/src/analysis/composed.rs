//! The text of a path of which an assignment wants parts.

use crate::facets::Facet;
use crate::json::Json;

use super::budget::Stop;
use super::compose;
use super::facet_leaf::{PARSED, facet_reason, is_derived, is_parsed};
use super::model::{Assignment, Failed};
use super::sample;
use super::shape;
use super::slot::Place;
use super::space::Space;
use super::theory::TextId;

impl Space<'_> {
    /// A text that may have the parts that an assignment wants, with its reasons noted; `None`: no parts are wanted, or no
    /// text with them comes to mind.
    pub(super) fn composed(
        &mut self,
        slot: usize,
        assignment: &Assignment<'_>,
        (wanted, excluded): (&[(TextId, bool)], &[String]),
    ) -> Result<Option<String>, Failed> {
        let Some(place) = self.slots.get(slot).map(|slot| slot.place.clone()) else {
            return Ok(None);
        };
        let below = |other: &Place| {
            other.keys.len() > place.keys.len()
                && other.field == place.field
                && other.keys.starts_with(&place.keys)
                && is_derived(other)
        };
        let derived: Vec<(usize, Place)> = self
            .slots
            .iter()
            .enumerate()
            .filter(|(_, slot)| below(&slot.place))
            .map(|(at, slot)| (at, slot.place.clone()))
            .collect();
        let mut made: Vec<String> = Vec::new();
        for (at, own) in derived {
            if !self.is_touched(at, assignment) {
                continue;
            }
            let reason = facet_reason(&own);
            if !self.caveats.contains(&reason) {
                self.caveats.push(reason);
            }
            if is_parsed(&own)
                && own.keys.len() == place.keys.len() + 1
                && let Some(facet) = own.keys.last().and_then(|key| key.strip_prefix(PARSED))
                && let Some(facet) = Facet::from_name(facet)
            {
                let parts = self.value(at, assignment)?;
                made.extend(compose::texts(facet, &parts.unwrap_or(Json::Null)));
                if facet == Facet::Ip {
                    made.extend(self.address_texts(at, assignment));
                }
            }
        }
        let mut kept = Vec::new();
        for text in made {
            let mut fits = !excluded.contains(&text);
            for (id, value) in wanted {
                fits = fits && self.theory.accepts(*id, &text)? == *value;
            }
            if fits {
                kept.push(text);
            }
        }
        if kept.is_empty() {
            return Ok(None);
        }
        let first = kept.remove(0);
        let kept = kept.iter().map(|text| sample::text(text)).collect();
        if place.field.is_some() && !is_derived(&place) {
            self.others.push((place, kept));
        }
        Ok(Some(first))
    }

    /// The tests of texts of a slot that are a part: of its usual form, and of those that it can have at all.
    pub(super) fn shapes(&mut self, slot: usize) -> Result<[Option<TextId>; 2], Stop> {
        let place = self.slots.get(slot).map(|slot| &slot.place);
        let owner = match place {
            Some(place) if place.field.is_none() && place.keys.is_empty() => self.part.clone(),
            Some(place) => self.owner(place),
            None => None,
        };
        let Some((owner, name)) = owner else {
            return Ok([None, None]);
        };
        let add = |test: Option<_>| test.map(|test| self.theory.add(test)).transpose();
        Ok([
            add(shape::usual(owner, &name))?,
            add(shape::only(owner, &name))?,
        ])
    }
}
