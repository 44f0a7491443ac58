//! YAML texts of policies: their nodes, composed from libyaml's events.

mod compose;
mod events;
mod node;

pub(crate) use compose::{YamlError, compose_yaml};
pub(crate) use node::{CollectionNode, MappingNode, Mark, Node, ScalarNode, SequenceNode};
