//! Requests with the values of an assignment, as JSON.

use std::collections::BTreeMap;

use crate::json::{Json, Text, write_string};
use crate::lang::path::{Field, Head};
use crate::value::Civil;

use super::model::Model;
use super::sample;
use super::slot::Place;

/// A request with these values; what no rule reads has its default. `other` is a tool that no policy names.
pub(super) fn request(model: &Model, tool: Option<&str>, other: &str) -> String {
    let mut tool = tool.map(str::to_owned);
    let mut args = "{}".to_owned();
    let mut declared: BTreeMap<&str, String> = BTreeMap::new();
    let mut context: BTreeMap<&str, String> = BTreeMap::new();
    let mut principal: BTreeMap<&str, String> = BTreeMap::new();
    for (field, value) in &model.fields {
        let Some(field) = Field::ALL.get(usize::from(*field)) else {
            continue;
        };
        let mut text = String::new();
        sample::write(value, &mut text);
        match (field, field.path()) {
            (Field::Tool, _) => {
                if let (None, Json::Text(name @ (Text::Owned(_) | Text::Borrowed(_)))) =
                    (&tool, value)
                {
                    tool = name.as_str().map(str::to_owned);
                }
            }
            (Field::Args, _) => args = text,
            (_, (Head::Declared, [key])) => {
                declared.insert(key, text);
            }
            (_, (Head::Context, [_, key])) => {
                principal.insert(key, text);
            }
            (_, (Head::Context, [key])) => {
                context.insert(key, text);
            }
            _ => {}
        }
    }
    if let Some(micros) = model.instant {
        let mut text = String::new();
        write_string(&written(micros), &mut text);
        context.insert("timestamp", text);
    }
    if !principal.is_empty() {
        // The two are there together, or not at all.
        principal
            .entry("kind")
            .or_insert_with(|| "\"user\"".to_owned());
        principal
            .entry("id")
            .or_insert_with(|| "\"anonymous\"".to_owned());
        context.insert("principal", object(&principal));
    }
    let mut out = "{\"tool\": ".to_owned();
    write_string(tool.as_deref().unwrap_or(other), &mut out);
    out.push_str(", \"args\": ");
    out.push_str(&args);
    for (key, entries) in [("declared", declared), ("context", context)] {
        if !entries.is_empty() {
            out.push_str(&format!(", \"{key}\": {}", object(&entries)));
        }
    }
    out.push('}');
    out
}

/// Requests with the other values of a model.
pub(super) fn others(model: &Model, tool: Option<&str>, other: &str) -> Vec<String> {
    let with = |changed: &[(&Place, &Json<'static>)]| {
        let mut fields = model.fields.clone();
        for (place, value) in changed {
            if let Some(field) = place.field {
                let whole = fields
                    .entry(field)
                    .or_insert_with(|| sample::mapping(Vec::new()));
                *whole = sample::replaced(whole, &place.keys, value);
            }
        }
        let changed = Model {
            fields,
            instant: model.instant,
            ..Model::default()
        };
        request(&changed, tool, other)
    };
    let others = model.others.iter();
    let single =
        others.flat_map(|(place, values)| values.iter().map(move |value| [(place, value)]));
    let mut made: Vec<String> = single.map(|changed| with(&changed)).collect();
    for all in &model.together {
        let changed: Vec<_> = all.iter().map(|(place, value)| (place, value)).collect();
        made.push(with(&changed));
    }
    made
}

fn object(entries: &BTreeMap<&str, String>) -> String {
    let entries = entries
        .iter()
        .map(|(key, value)| format!("\"{key}\": {value}"));
    format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
}

/// An instant as RFC 3339 has it.
fn written(micros: i64) -> String {
    let civil = Civil::utc(micros);
    let mut text = format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}",
        civil.year, civil.month, civil.day, civil.hour, civil.minute, civil.second
    );
    if civil.microsecond != 0 {
        text.push_str(&format!(".{:06}", civil.microsecond));
    }
    text.push('Z');
    text
}
