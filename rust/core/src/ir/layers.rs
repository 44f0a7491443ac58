//! Layers of a policy: parts of its rules that are evaluated one by one, and what combines their verdicts.
//!
//! The rules of all layers are the rules of one program, layer by layer.

use super::decode::{Decoder, defaults, span};
use super::node::{Decode, Map, bad, limit, list};
use crate::json::tape::{Item, Node};
use crate::lang::{Defaults, Profile};
use crate::limits::{MAX_LAYER_NAME, MAX_LAYERS, MAX_RULES};
use crate::source::Span;

/// The way that the verdicts of layers become one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    /// The strictest verdict; the defaults of a layer are a verdict too.
    Strictest,
    /// The first layer with a rule that decides.
    First,
    /// The last layer with a rule that decides.
    Last,
    /// The strictest verdict of a rule.
    StrictOverridesLoose,
}

impl Combine {
    /// The combiner a policy calls `name`.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "strictest" => Self::Strictest,
            "first" => Self::First,
            "last" => Self::Last,
            "strict_overrides_loose" => Self::StrictOverridesLoose,
            _ => return None,
        })
    }
}

/// One layer.
#[derive(Clone, Debug)]
pub struct Layer {
    /// The name; the ids of its rules begin with it.
    pub name: Box<str>,
    /// Its rules: the first one, and the one after its last.
    pub rules: (u32, u32),
    /// Its outcomes when none of its rules decides.
    pub defaults: Defaults,
    /// True if it has no part in combining: its verdict only makes the combined one stricter.
    pub limits: bool,
}

/// The layers of a policy.
#[derive(Clone, Debug)]
pub struct Layers {
    /// What combines the verdicts.
    pub combine: Combine,
    /// The layers, in order.
    pub items: Vec<Layer>,
    pub(crate) span: Span,
}

impl Layers {
    /// The layer that has a rule.
    #[must_use]
    pub fn of_rule(&self, rule: u32) -> Option<&Layer> {
        let at = self.items.partition_point(|layer| layer.rules.1 <= rule);
        self.items.get(at)
    }

    /// The name of a layer.
    #[must_use]
    pub fn name(&self, layer: u32) -> &str {
        self.items
            .get(layer as usize)
            .map_or("", |layer| layer.name.as_ref())
    }
}

/// Reads the layers before the rules.
pub(super) fn decode(decoder: &mut Decoder<'_>, item: Item<'_, '_>) -> Decode<()> {
    if decoder.policy.profile != Profile::Strict {
        return Err(bad("only the `strict` profile has layers"));
    }
    let fields = Map::of(item, "`layers`")?.fields("`layers`", &["combine", "items"])?;
    let name = fields.text(0)?;
    let combine =
        Combine::from_name(name).ok_or_else(|| bad(format!("`{name}` is not a combiner")))?;
    let (mut items, mut next) = (Vec::<Layer>::new(), 0);
    for item in list(fields.need(1)?, "`items`")? {
        if items.len() == MAX_LAYERS {
            return Err(limit(format!("more than {MAX_LAYERS} layers")));
        }
        let layer = layer(item, next)?;
        if items.iter().any(|other| other.name == layer.name) {
            return Err(bad(format!("two layers are called `{}`", layer.name)));
        }
        next = layer.rules.1;
        items.push(layer);
    }
    if items.iter().all(|layer| layer.limits) {
        return Err(bad("no layer decides"));
    }
    decoder.policy.layers = Some(Box::new(Layers {
        combine,
        items,
        span: span(item),
    }));
    Ok(())
}

fn layer(item: Item<'_, '_>, start: u32) -> Decode<Layer> {
    let fields = Map::of(item, "the layer")?
        .fields("the layer", &["defaults", "limits", "name", "rules"])?;
    let name = fields.text(2)?;
    if !is_name(name) {
        return Err(bad(format!("`{name}` is not the name of a layer")));
    }
    let limits = match fields.get(1).map(Item::node) {
        None => false,
        Some(Node::Bool(true)) => true,
        Some(_) => return Err(bad("`limits` is true, or absent")),
    };
    let count = match fields.need(3)?.node() {
        Node::Int(count) => u32::try_from(count)
            .ok()
            .filter(|count| *count as usize <= MAX_RULES),
        _ => None,
    };
    let count = count.ok_or_else(|| bad("`rules` is not a number of rules"))?;
    Ok(Layer {
        name: name.into(),
        rules: (start, start + count),
        defaults: defaults(Map::of(fields.need(0)?, "`defaults`")?, Profile::Strict)?,
        limits,
    })
}

/// Returns true for a name of lower-case letters, digits, `-` and `_` that begins with a letter.
fn is_name(name: &str) -> bool {
    let mut bytes = name.bytes();
    name.len() <= MAX_LAYER_NAME
        && bytes.next().is_some_and(|byte| byte.is_ascii_lowercase())
        && bytes.all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'))
}

/// Checks that the layers have the rules of the policy, and that no rule needs its host.
pub(super) fn check(layers: &Layers, rules: usize, hosts: bool) -> Decode<()> {
    let told = layers.items.last().map_or(0, |layer| layer.rules.1);
    if told as usize != rules {
        return Err(bad(format!(
            "the layers have {told} rules, the policy {rules}"
        )));
    }
    if hosts {
        return Err(bad("a policy with layers has no host rules"));
    }
    Ok(())
}
