//! Decisions of policies with layers: `docs/reference/layers.md` is the contract.

mod approvals;
mod same;
mod walk;

use super::explain::{SURE, untraced};
use super::work::Work;
use super::{ScanResult, each_once};
use crate::error::ErrorCode;
use crate::ir::layers::{Combine, Layer, Layers};
use crate::lang::Verdict;
use crate::program::{
    Conflict, DecidedBy, FunctionDecision, LayeredOutcome, Marker, Opinion, Origin, Outcome,
    Program, RuleTrace, Scratch, TraceOutcome, TransformStep,
};
use crate::value::request::Request;
use approvals::joint_approvals;
use same::same_args;
use walk::Walk;

/// The traces of the rules that a decision evaluates, in the order of evaluation.
type Traces<'t> = Option<&'t mut Vec<RuleTrace>>;

/// A layer and its place.
type Numbered<'l> = (u32, &'l Layer);

/// A decision in the making.
struct Decision<'p, R: Request> {
    program: &'p Program,
    layers: &'p Layers,
    work: Work<R::Value>,
    best: Option<Opinion<R::Decision>>,
    also: Vec<Opinion<R::Decision>>,
    /// The rules with obligations, each with the decision of its function.
    obliging: Vec<(u32, Option<FunctionDecision>)>,
    conflict: Option<Conflict>,
    markers: Vec<Marker>,
    transforms: Vec<TransformStep<R::Decision>>,
    /// True if an ordinary layer has decided.
    decided: bool,
}

impl Program {
    /// Returns true if a restricting rule in error is skipped.
    pub(super) fn continues_on_error(&self, rule: u32) -> bool {
        let layers = self.layers.as_ref();
        let layer = layers.and_then(|layers| layers.of_rule(rule));
        layer
            .map_or(self.defaults, |layer| layer.defaults)
            .continue_on_error
    }

    /// The decision on `request` of a policy with these layers, which are its own.
    pub fn decide_layered<R: Request>(
        &self,
        layers: &Layers,
        request: &R,
        scratch: &mut Scratch,
    ) -> LayeredOutcome<R> {
        Decision::new(self, layers).make(request, scratch, None).0
    }

    /// The decision on `request`, and the result of every rule where it was evaluated first. A layer after one that
    /// rewrites the arguments has evaluated the new ones.
    pub fn explain_layered<R: Request>(
        &self,
        layers: &Layers,
        request: &R,
    ) -> (LayeredOutcome<R>, Vec<RuleTrace>) {
        let (mut scratch, mut traced) = (Scratch::new(), Vec::new());
        let decision = Decision::new(self, layers);
        let (mut outcome, steps) = decision.make(request, &mut scratch, Some(&mut traced));
        if steps > SURE {
            // Evaluating clause by clause takes more steps, and only the optimised path may run out of them.
            outcome = self.decide_layered(layers, request, &mut scratch);
            traced.retain(|trace| trace.error != Some(ErrorCode::BudgetExceeded));
        }
        let mut traces: Vec<RuleTrace> = (0..self.rules.len() as u32)
            .map(|rule| untraced(rule, TraceOutcome::NotReached, None))
            .collect();
        for trace in traced {
            if let Some(place) = traces.get_mut(trace.rule as usize) {
                *place = trace;
            }
        }
        (outcome, traces)
    }

    /// Evaluates layers in order on one request, from the one at `from`, until one rewrites it or `visit` returns `false`.
    /// Returns the place after the layer that rewrote it.
    fn until_rewritten<R: Request>(
        &self,
        (layers, from): (&[Numbered<'_>], usize),
        request: &R,
        (scratch, work): (&mut Scratch, &Work<R::Value>),
        mut traces: Traces<'_>,
        visit: &mut dyn FnMut(u32, Outcome<R>) -> bool,
    ) -> Option<usize> {
        let mut left = (from..).zip(layers.iter().skip(from));
        let (place, index, layer, first, markers) = 'walk: {
            if let Some(traces) = &mut traces {
                for (place, &(index, layer)) in left {
                    let mut markers = Vec::new();
                    let given = (request, layer.rules);
                    let first = self.scan_traced(given, &mut markers, (scratch, work), traces);
                    match first.unwrap_or(ScanResult::Nothing) {
                        first @ ScanResult::Transformed(_) => {
                            break 'walk (place, index, layer, first, markers);
                        }
                        first => {
                            if !visit(index, self.settled(request, first, markers)) {
                                return None;
                            }
                        }
                    }
                }
                return None;
            }
            let mut walk = Walk::new(self, request, scratch, work);
            loop {
                let (place, &(index, layer)) = left.next()?;
                let mut markers = Vec::new();
                match walk.layer(layer.rules, &mut markers) {
                    first @ ScanResult::Transformed(_) => {
                        break (place, index, layer, first, markers);
                    }
                    first => {
                        if !visit(index, self.settled(request, first, markers)) {
                            return None;
                        }
                    }
                }
            }
        };
        let from = layer.rules.0;
        let outcome = self.conclude(request, (first, markers), work, |(next, below), markers| {
            let below = below.unwrap_or(layer.rules.1);
            Walk::new(self, next, scratch, work).layer((from, below), markers)
        });
        visit(index, outcome).then_some(place + 1)
    }

    /// The outcome of a layer that rewrites nothing.
    fn settled<R: Request>(
        &self,
        request: &R,
        first: ScanResult<R>,
        markers: Vec<Marker>,
    ) -> Outcome<R> {
        match first {
            ScanResult::Decided(decided) => Outcome {
                decided,
                markers,
                transforms: Vec::new(),
                transformed: None,
            },
            ScanResult::Nothing | ScanResult::Transformed(_) => Outcome {
                markers,
                ..self.default(request).into()
            },
        }
    }
}

/// Returns true if no rule decided.
fn is_default<D>(decided: &DecidedBy<D>) -> bool {
    matches!(decided, DecidedBy::NoMatch | DecidedBy::MissingShadow)
}

impl<'p, R: Request> Decision<'p, R> {
    fn new(program: &'p Program, layers: &'p Layers) -> Self {
        Self {
            program,
            layers,
            work: Work::default(),
            best: None,
            also: Vec::new(),
            obliging: Vec::new(),
            conflict: None,
            markers: Vec::new(),
            transforms: Vec::new(),
            decided: false,
        }
    }

    /// Returns true if one layer is chosen among the ordinary ones, whose transforms the others do not see.
    fn chooses(&self) -> bool {
        matches!(self.layers.combine, Combine::First | Combine::Last)
    }

    fn make(
        mut self,
        request: &R,
        scratch: &mut Scratch,
        mut traces: Traces<'_>,
    ) -> (LayeredOutcome<R>, u64) {
        let numbered = (0..).zip(&self.layers.items);
        let (ordinary, rest): (Vec<_>, Vec<_>) =
            numbered.partition(|(_, layer)| self.chooses() && !layer.limits);
        let mut current: Option<Box<R>> = None;
        if self.chooses() {
            let chosen = self.choose(&ordinary, request, scratch, traces.as_deref_mut());
            current = chosen.and_then(|(layer, outcome)| self.add(layer, outcome, true));
        }
        // The layers up to here have not evaluated the arguments that the last rewrite made.
        let (mut at, mut rewriter) = (0, None);
        while !self.denies() {
            let given = current.as_deref().unwrap_or(request);
            let mut made = None;
            let work = std::mem::take(&mut self.work);
            let next = self.program.until_rewritten(
                (&rest, at),
                given,
                (scratch, &work),
                traces.as_deref_mut(),
                &mut |layer, outcome| {
                    made = self.add(layer, outcome, true);
                    !self.denies()
                },
            );
            work.forget_referred();
            self.work = work;
            if made.is_some() {
                (current, rewriter) = (made, next);
            }
            match next {
                Some(next) => at = next,
                None => break,
            }
        }
        if let (Some(end), Some(last)) = (rewriter, &current)
            && !self.denies()
        {
            self.again((&ordinary, &rest), end - 1, last, scratch);
        }
        if !self.denies() && !self.decided {
            self.add_default(request);
        }
        let steps = self.work.steps.taken();
        (self.finish(current), steps)
    }

    /// Evaluates the layers before a rewrite on its result: they must permit it, and leave it as it is.
    #[cold]
    fn again(
        &mut self,
        (ordinary, rest): (&[Numbered<'_>], &[Numbered<'_>]),
        end: usize,
        last: &R,
        scratch: &mut Scratch,
    ) {
        let Some((rewriter, _)) = rest.get(end) else {
            return;
        };
        if self.chooses()
            && let Some((layer, outcome)) = self.choose(ordinary, last, scratch, None)
        {
            let made = self.add(layer, outcome, false);
            self.compare((layer, *rewriter), made.as_deref(), last);
        }
        let mut at = 0;
        while !self.denies() {
            let mut made = None;
            let work = std::mem::take(&mut self.work);
            let before = rest.get(..end).unwrap_or_default();
            let next = self.program.until_rewritten(
                (before, at),
                last,
                (scratch, &work),
                None,
                &mut |layer, outcome| {
                    made = self.add(layer, outcome, false).map(|made| (layer, made));
                    !self.denies()
                },
            );
            work.forget_referred();
            self.work = work;
            if let Some((layer, made)) = made {
                self.compare((layer, *rewriter), Some(&made), last);
            }
            match next {
                Some(next) => at = next,
                None => break,
            }
        }
    }

    /// Two layers are in conflict if the first would change what the second made.
    fn compare(&mut self, layers: (u32, u32), made: Option<&R>, last: &R) {
        if let Some(made) = made
            && !same_args(made, last, &self.work)
        {
            self.conflict = Some(Conflict::Arguments(layers.0, layers.1));
        }
    }

    /// The ordinary layer that decides, and its outcome.
    fn choose(
        &mut self,
        ordinary: &[Numbered<'_>],
        request: &R,
        scratch: &mut Scratch,
        mut traces: Traces<'_>,
    ) -> Option<(u32, Outcome<R>)> {
        let first = self.layers.combine == Combine::First;
        let (mut chosen, mut at) = (None, 0);
        loop {
            let markers = &mut self.markers;
            let next = self.program.until_rewritten(
                (ordinary, at),
                request,
                (scratch, &self.work),
                traces.as_deref_mut(),
                &mut |layer, mut outcome| {
                    markers.append(&mut outcome.markers);
                    if is_default(&outcome.decided) {
                        return true;
                    }
                    chosen = Some((layer, outcome));
                    !first
                },
            );
            self.work.forget_referred();
            match next {
                Some(next) => at = next,
                None => return chosen,
            }
        }
    }

    /// Adds the outcome of a layer, and returns the request it made. `new`: its transforms are recorded.
    fn add(&mut self, index: u32, outcome: Outcome<R>, new: bool) -> Option<Box<R>> {
        let Outcome {
            decided,
            markers,
            transforms,
            transformed,
        } = outcome;
        if !markers.is_empty() {
            self.markers.extend(markers);
        }
        let layer = self.layers.items.get(index as usize)?;
        let ordinary = !layer.limits;
        if is_default(&decided) && ordinary && self.layers.combine != Combine::Strictest {
            return None;
        }
        self.decided |= ordinary;
        if let Some((rule, function)) = decided.rule_and_function()
            && self.obliges(rule, function)
            && !self
                .obliging
                .iter()
                .any(|known| same(known, (rule, function)))
        {
            self.obliging.push((rule, function.cloned()));
        }
        let mut verdict = self.verdict(&decided, layer);
        if new && transformed.is_some() {
            self.transforms.extend(transforms);
            self.transforms.extend(step_of(&decided, verdict));
        }
        if transformed.is_some() && verdict == Verdict::Allow {
            verdict = Verdict::Transform;
        }
        self.rank(Opinion {
            layer: index,
            verdict,
            decided,
        });
        transformed
    }

    /// Keeps the strictest opinion and other layers that require an approval. Of equal ones, a rule comes before a default,
    /// then the first.
    fn rank(&mut self, opinion: Opinion<R::Decision>) {
        let Some(best) = &self.best else {
            self.best = Some(opinion);
            return;
        };
        let strictness = opinion.verdict.strictness();
        let named = strictness == best.verdict.strictness()
            && opinion.verdict != Verdict::ApproveRequired
            && is_default(&best.decided)
            && !is_default(&opinion.decided);
        if named || strictness > best.verdict.strictness() {
            self.best = Some(opinion);
            self.also.clear();
        } else if opinion.verdict == Verdict::ApproveRequired
            && best.verdict == Verdict::ApproveRequired
        {
            let known = self.also.iter().chain([best]);
            let known = known.map(|other| (other.layer, other.decided.rule()));
            if !known
                .collect::<Vec<_>>()
                .contains(&(opinion.layer, opinion.decided.rule()))
            {
                self.also.push(opinion);
            }
        }
    }

    /// Adds the strictest default of the ordinary layers: none of their rules decided.
    fn add_default(&mut self, request: &R) {
        for (index, layer) in (0..).zip(&self.layers.items) {
            if !layer.limits {
                let decided: Outcome<R> = self.program.default(request).into();
                let verdict = self.verdict(&decided.decided, layer);
                if self
                    .best
                    .as_ref()
                    .is_none_or(|best| verdict.strictness() > best.verdict.strictness())
                {
                    self.also.clear();
                    self.best = Some(Opinion {
                        layer: index,
                        verdict,
                        decided: decided.decided,
                    });
                }
            }
        }
    }

    fn verdict(&self, decided: &DecidedBy<R::Decision>, layer: &Layer) -> Verdict {
        let program = self.program;
        let verdict = match decided {
            DecidedBy::Rule(rule) => program.rules.get(*rule as usize).map(|rule| rule.verdict),
            DecidedBy::Function(_, FunctionDecision::Always(number)) => {
                program.template(*number).map(|template| template.verdict)
            }
            DecidedBy::Function(_, FunctionDecision::Made(template)) => Some(template.verdict),
            DecidedBy::NoMatch => Some(layer.defaults.on_no_match),
            DecidedBy::MissingShadow => Some(layer.defaults.on_missing_shadow),
            // The reader refuses host rules in layers.
            DecidedBy::Host(..) | DecidedBy::ErrorDeny(..) | DecidedBy::Aborted => None,
        };
        verdict.unwrap_or(Verdict::Deny)
    }

    /// Returns true if a rule, or the decision of its function, has obligations.
    fn obliges(&self, rule: u32, function: Option<&FunctionDecision>) -> bool {
        match function {
            Some(FunctionDecision::Made(template)) => !template.obligations.is_empty(),
            Some(FunctionDecision::Always(number)) => {
                let template = self.program.template(*number);
                template.is_some_and(|template| !template.obligations.is_empty())
            }
            None => {
                let info = self.program.rule(rule);
                info.is_some_and(|info| !info.obligations.is_empty())
            }
        }
    }

    fn denies(&self) -> bool {
        let best = self.best.as_ref();
        self.conflict.is_some() || best.is_some_and(|best| best.verdict == Verdict::Deny)
    }

    fn finish(mut self, transformed: Option<Box<R>>) -> LayeredOutcome<R> {
        if !self.markers.is_empty() {
            each_once(&mut self.markers);
        }
        let deciding = self.best.unwrap_or(Opinion {
            layer: 0,
            verdict: Verdict::Deny,
            decided: DecidedBy::NoMatch,
        });
        let approvals = self.also.first().and_then(|_| {
            let joint = joint_approvals(self.program, &deciding, &self.also);
            joint.map_err(|layers| self.conflict = Some(layers)).ok()
        });
        let own = deciding.decided.rule();
        self.transforms.retain(|step| Some(step.rule) != own);
        let (also, transforms) = (&self.also, &self.transforms);
        self.obliging.retain(|known| {
            let opinions = also.iter().chain([&deciding]);
            let mut opinions = opinions.filter_map(|other| other.decided.rule_and_function());
            let mut steps = transforms.iter();
            !opinions.any(|other| same(known, other))
                && !steps.any(|step| same(known, (step.rule, step.origin.function())))
        });
        LayeredOutcome {
            deciding,
            also: self.also,
            obliging: self.obliging,
            approvals,
            conflict: self.conflict,
            markers: self.markers,
            transforms: self.transforms,
            transformed,
        }
    }
}

/// Returns true if two rules, with the decisions of their functions, are the same.
fn same(
    (rule, function): &(u32, Option<FunctionDecision>),
    other: (u32, Option<&FunctionDecision>),
) -> bool {
    (*rule, function.as_ref()) == other
}

/// The deciding rule of a layer as a transform, if it is one.
fn step_of<D>(decided: &DecidedBy<D>, verdict: Verdict) -> Option<TransformStep<D>> {
    if verdict != Verdict::Transform {
        return None;
    }
    match decided {
        DecidedBy::Rule(rule) => Some(TransformStep {
            rule: *rule,
            origin: Origin::Match,
        }),
        DecidedBy::Function(rule, decision) => Some(TransformStep {
            rule: *rule,
            origin: Origin::Function(decision.clone()),
        }),
        DecidedBy::Host(..)
        | DecidedBy::ErrorDeny(..)
        | DecidedBy::NoMatch
        | DecidedBy::MissingShadow
        | DecidedBy::Aborted => None,
    }
}
