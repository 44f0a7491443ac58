//! The session of a call: opened where the policy reads it, and written before the answer.

use std::path::Path;

use bobcat_core::program::Program;
use bobcat_session::{Result as Ended, Session, default_directory};

use crate::call_result::CallResult;
use crate::canonical::canonical_json;
use crate::decide::Reply;
use crate::host::Host;
use crate::input::{Call, PRINCIPAL_KIND, UserTask};
use crate::options::Options;
use crate::{Failure, clock};

/// The session that the host names; `None` without a name, and for a policy that does not read it.
pub(crate) fn session(
    options: &Options,
    program: &Program,
    session: Option<&str>,
) -> Result<Option<Session>, Failure> {
    let reads = program.remembers() || program.reads_task();
    let Some(session) = session.filter(|session| reads && !session.is_empty()) else {
        return Ok(None);
    };
    let open = |directory: &Path| Session::open(program, directory, (options.host.name(), session));
    match &options.state {
        Some(directory) => open(directory),
        None => open(&default_directory()?),
    }
    .map(Some)
}

/// Gives the state of the session what the policy counts over all sessions of the principal, which is the host.
pub(crate) fn share(
    session: &mut Option<Session>,
    program: &Program,
    (host, time): (Host, &str),
) -> Result<(), Failure> {
    match session {
        Some(session) => session.share(program, (PRINCIPAL_KIND, host.name()), time),
        None => Ok(()),
    }
}

/// Records a call that may run, with its effective arguments.
pub(crate) fn call(
    session: &mut Session,
    program: &Program,
    call: &Call<'_>,
    (reply, time): (&Reply, &str),
) -> Result<(), Failure> {
    let proposed = || {
        canonical_json(&call.args)
            .ok_or("the arguments have no exact JSON form: the call cannot be recorded")
    };
    let args = match &reply.args {
        Some(new) => new.canonical.clone(),
        None => proposed()?,
    };
    let request = call.request(&args, time);
    session.call(program, &request, (call.id.as_deref(), &call.tool, &args))
}

/// Records the result of a call.
pub(crate) fn result(
    options: &Options,
    program: &Program,
    result: &CallResult,
) -> Result<Option<Session>, Failure> {
    if !program.remembers() {
        return Ok(None);
    }
    let mut session = session(options, program, Some(&result.session))?;
    if let Some(session) = &mut session {
        let ended = Ended {
            id: result.id.as_deref(),
            tool: &result.tool,
            args: &result.args,
            value: result.value.as_deref(),
            failed: result.failed,
            at: &clock::now().ok_or(clock::INVALID)?,
        };
        session.result(program, ended)?;
    }
    Ok(session)
}

/// Records the user's words.
pub(crate) fn task(
    options: &Options,
    program: &Program,
    task: &UserTask,
) -> Result<Option<Session>, Failure> {
    let mut session = session(options, program, Some(&task.session))?;
    if let Some(session) = &mut session {
        session.set_task(&task.text)?;
    }
    Ok(session)
}
