//! Requests given as JSON: the second implementation of values, per `docs/reference/requests.md`.
//!
//! `JsonRequest::parse(&'a [u8]) -> Result<JsonRequest<'a>, DecodeError>` implements [`super::request::Request`] with
//! `Decision = Infallible`; `to_json(&self) -> String` of its `args()` gives transformed arguments.
