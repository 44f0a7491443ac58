//! Comprehensions, and the loops of `any`, `sum` and their kin.

use std::rc::Rc;

use super::env::Env;
use super::sequence::Cursor;
use super::table::Table;
use super::value::{Run, Val};
use super::{Interp, Out, number};
use crate::pyfn::ast::{Binary, Collect, Collection, Loop};
use crate::pyfn::builtins;
use crate::pyfn::exception::Exception;

impl<'p, W: Env> Interp<'_, 'p, W> {
    pub(super) fn collect(&mut self, node: &'p Collect) -> Out<'p, W> {
        let mut gathered = match node.kind {
            Collection::List => Gathered::List(Vec::new()),
            Collection::Set | Collection::Dict => Gathered::Table(Table::new()),
            Collection::Any => Gathered::Found(false),
            Collection::All => Gathered::Found(true),
            Collection::Sum => Gathered::One(Some(Val::Int(0))),
            Collection::Min | Collection::Max | Collection::First => Gathered::One(None),
        };
        self.loops(node, &node.loops, &mut gathered)?;
        match (gathered, node.kind) {
            (Gathered::List(items), _) => Val::list(items),
            (Gathered::Table(table), Collection::Dict) => Ok(Val::Dict(Rc::new(table))),
            (Gathered::Table(table), _) => Ok(Val::Set(Rc::new(table))),
            (Gathered::Found(found), _) => Ok(Val::Bool(found)),
            (Gathered::One(Some(value)), _) => Ok(value),
            (Gathered::One(None), _) => match &node.default {
                Some(default) => Ok(Val::constant(default)),
                None => Err(Exception::VALUE.into()),
            },
        }
    }

    /// Runs the loops of a comprehension; false: it has seen enough.
    fn loops(
        &mut self,
        node: &'p Collect,
        loops: &'p [Loop],
        gathered: &mut Gathered<'p, W::Value>,
    ) -> Run<bool> {
        let Some((first, rest)) = loops.split_first() else {
            return self.gather(node, gathered);
        };
        let over = self.eval(&first.over)?;
        let mut cursor = Cursor::new(over, &mut self.budget)?;
        'items: while let Some(item) = cursor.next(&mut self.budget)? {
            self.budget.fuel(node.weight)?;
            self.assign(&first.target, item)?;
            for condition in &first.conditions {
                if !self.truth(condition)? {
                    continue 'items;
                }
            }
            if !self.loops(node, rest, gathered)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn gather(&mut self, node: &'p Collect, gathered: &mut Gathered<'p, W::Value>) -> Run<bool> {
        match gathered {
            Gathered::Found(found) => {
                let decisive = node.kind == Collection::Any;
                if self.truth(&node.value)? == decisive {
                    *found = decisive;
                    return Ok(false);
                }
            }
            Gathered::List(items) => {
                let value = self.eval(&node.value)?;
                self.budget.elements(1)?;
                items.push(value);
            }
            Gathered::Table(table) => match &node.key {
                Some(key) => {
                    let (key, value) = (self.eval(key)?, self.eval(&node.value)?);
                    table.insert(key, value, &mut self.budget)?;
                }
                None => {
                    let value = self.eval(&node.value)?;
                    table.insert(value, Val::None, &mut self.budget)?;
                }
            },
            Gathered::One(held) => {
                let value = self.eval(&node.value)?;
                if node.kind == Collection::First {
                    *held = Some(value);
                    return Ok(false);
                }
                let next = match (held.take(), node.kind) {
                    (Some(total), Collection::Sum) => {
                        number::binary(Binary::Add, &total, &value, &mut self.budget)?
                    }
                    (Some(best), kind) => {
                        let both = [best, value];
                        let largest = kind == Collection::Max;
                        match builtins::best(both, largest, &mut self.budget)? {
                            Some(best) => best,
                            None => return Err(Exception::VALUE.into()),
                        }
                    }
                    (None, _) => value,
                };
                *held = Some(next);
            }
        }
        Ok(true)
    }
}

/// The values that a comprehension has gathered.
enum Gathered<'p, V> {
    List(Vec<Val<'p, V>>),
    Table(Table<'p, V>),
    Found(bool),
    One(Option<Val<'p, V>>),
}
