//! Requests of a session: those of its calls, with its task and its state.

use std::convert::Infallible;

use bobcat_core::error::ErrorCode;
use bobcat_core::json::value::{JsonRequest, JsonValue};
use bobcat_core::json::{Json, Text};
use bobcat_core::lang::path::{Field, Key};
use bobcat_core::value::Step;
use bobcat_core::value::memory::Memory;
use bobcat_core::value::owned::OwnedValue;
use bobcat_core::value::request::{HostAnswer, Request, Transform};

/// A request with the task and the state of its session. Without them it is the request alone.
#[derive(Clone)]
pub struct SessionRequest<'a> {
    request: JsonRequest<'a>,
    task: Option<&'a str>,
    memory: Option<&'a dyn Memory>,
}

impl<'a> SessionRequest<'a> {
    /// The request of a call without a session.
    #[must_use]
    pub fn new(request: JsonRequest<'a>) -> Self {
        Self {
            request,
            task: None,
            memory: None,
        }
    }

    /// The arguments.
    #[must_use]
    pub fn args(&self) -> &Json<'a> {
        self.request.args()
    }

    /// This request with the task of a session.
    #[must_use]
    pub fn with_task(self, task: Option<&'a str>) -> Self {
        Self { task, ..self }
    }

    /// This request with the state of a session.
    #[must_use]
    pub fn with_memory(self, memory: Option<&'a dyn Memory>) -> Self {
        Self { memory, ..self }
    }
}

impl<'a> Request for SessionRequest<'a> {
    type Value = JsonValue<'a>;
    type Decision = Infallible;

    #[inline]
    fn tool(&self) -> Option<&str> {
        self.request.tool()
    }

    fn field(&self, field: Field) -> Step<JsonValue<'a>> {
        match (field, self.task) {
            (Field::Task, Some(task)) => {
                Step::Found(JsonValue::Json(Json::Text(Text::Borrowed(task))))
            }
            (field, _) => self.request.field(field),
        }
    }

    #[inline]
    fn arg(&self, key: Key<'_>, place: &mut Step<JsonValue<'a>>) {
        self.request.arg(key, place);
    }

    fn memory(&self) -> Option<&dyn Memory> {
        self.memory
    }

    fn host(&self, _host: u32, _rule: u32) -> HostAnswer<Self> {
        HostAnswer::Failed(ErrorCode::NotADecision)
    }

    fn with_made(&self, args: OwnedValue<JsonValue<'a>>) -> Result<Self, ErrorCode> {
        let request = self.request.with_made(args)?;
        Ok(Self {
            request,
            ..self.clone()
        })
    }

    fn with_transform(&self, rule: u32, transform: &Transform) -> Result<Self, ErrorCode> {
        let request = self.request.with_transform(rule, transform)?;
        Ok(Self {
            request,
            ..self.clone()
        })
    }
}
