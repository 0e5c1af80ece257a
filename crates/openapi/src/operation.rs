//! One operation: what a contract takes, and every answer it can give.

use std::collections::BTreeMap;

use latchkey_model::Type;
use latchkey_model::model::{
    Contract, Expr, ExprKind, Input, InputId, Method, Model, NEXT_CURSOR, Place, Segment, StepKind,
    TextPiece, each_step,
};

use crate::Serving;
use crate::components::Components;
use crate::example::{Called, Fit};
use crate::json::{Json, Object};
use crate::names;
use crate::problem::Refusals;
use crate::prose;
use crate::schema::{described, object, of_type};
use crate::shape::{Shape, Shapes};
use crate::shared::{ALWAYS, Answered, SERVER_ALWAYS, Sent, problem_members, security};

/// A contract that is described, and where it stands.
pub(crate) struct Operation<'a> {
    pub(crate) model: &'a Model,
    pub(crate) contract: &'a Contract,
    /// What its schemas are called, and those of its system.
    pub(crate) place: names::Place<'a>,
    /// The names that its path has for its parameters, in order.
    pub(crate) path_names: &'a [String],
    pub(crate) calls: &'a [Called],
    pub(crate) serving: &'a Serving,
}

/// What the answers of one status have in common.
#[derive(Default)]
struct Success {
    has_body: bool,
    has_tag: bool,
    has_path: bool,
}

impl Operation<'_> {
    /// The operation, as a path has it under its method.
    pub(crate) fn describe(&self, components: &mut Components) -> Object {
        let contract = self.contract;
        let body = self.body(components);
        Object::new()
            .with("tags", vec![self.model.system.as_str()])
            .with("summary", contract.title.as_str())
            .with("description", self.description())
            .with("operationId", self.place.own.operation.as_str())
            .with("parameters", self.parameters(components))
            .with_some("requestBody", body.clone())
            .with("responses", self.responses(components, body.is_some()))
            .with("security", security(contract.open.is_some(), self.serving.oidc.is_some()))
    }

    /// The document's prose, then what the contract states of itself.
    fn description(&self) -> String {
        let facts = &self.contract.facts;
        let mut stated = Vec::new();
        if let Some(strong) = &facts.consistency {
            let how = if strong.value { "strong" } else { "eventual" };
            stated.push(format!("Consistency: {how}."));
        }
        if let Some(rate) = &facts.rate {
            stated.push(format!("Expected rate: {}.", rate.value));
        }
        if let Some(cost) = &facts.cost {
            stated.push(format!("Cost: at most {}.", cost.value));
        }
        stated.push(format!("Contract {} of {}.", self.contract.id, self.model.system));
        let prose = prose::above(self.model, self.contract.span);
        let parts: Vec<String> = prose.into_iter().chain([stated.join(" ")]).collect();
        parts.join("\n\n")
    }

    fn inputs(&self, place: Place) -> impl Iterator<Item = (InputId, &Input)> {
        self.contract.inputs.enumerate().filter(move |(_, input)| input.place == place)
    }

    fn parameters(&self, components: &mut Components) -> Json {
        let mut all: Vec<Object> = Vec::new();
        let route = self.contract.route.as_ref();
        let in_path =
            route.into_iter().flat_map(|route| &route.segments).filter_map(
                |segment| match segment {
                    Segment::Input(id) => Some(*id),
                    Segment::Literal(_) => None,
                },
            );
        for (at, (id, name)) in in_path.zip(self.path_names).enumerate() {
            let schema = self.input_schema(id, components);
            let given = |called: &Called| called.parameters.get(at).cloned();
            let example = self.text_example(&schema, components, given);
            let parameter = Object::new().with("name", name.as_str()).with("in", "path");
            let parameter = parameter.with("required", true).with("schema", schema);
            all.push(parameter.with_some("example", example));
        }
        for (id, input) in self.inputs(Place::Query) {
            let schema = match input.kind.is_structured() {
                true => components.version.json_text(&input.kind),
                false => self.input_schema(id, components),
            };
            all.push(self.query_parameter(&input.name, schema, self.is_required(id), components));
        }
        if let Some(page) = self.contract.page() {
            let size = of_type(&Type::Int { low: Some(1), high: Some(page.max.into()) });
            let size = size.with("default", i64::from(page.size));
            let size = described(size, Some("How many items a page has.".to_owned()));
            all.push(self.query_parameter(page.sized_by, size, false, components));
            let cursor = Object::new().with("type", "string").with("minLength", 1i64).with(
                "description",
                "The `nextCursor` of the page before. All other inputs stay the same.",
            );
            let cursor = Object::new()
                .with("name", NEXT_CURSOR)
                .with("in", "query")
                .with("required", false)
                .with("schema", cursor);
            all.push(cursor);
        }
        all.extend(self.headers().into_iter().map(|header| components.sent(header)));
        all.into()
    }

    /// The headers that a call may have.
    fn headers(&self) -> Vec<Sent> {
        let contract = self.contract;
        let method = contract.route.as_ref().map(|route| route.method);
        let mut all = Vec::new();
        if self.model.version_input(contract).is_some() {
            all.push(Sent::IfMatch);
        }
        if method == Some(Method::Get) && self.successes().0.values().any(|one| one.has_tag) {
            all.push(Sent::IfNoneMatch);
        }
        if method == Some(Method::Post) {
            let refused = contract.open.is_some() && contract.facts.idempotent.is_none();
            match (contract.facts.by_key, refused) {
                (Some(_), _) => all.push(Sent::RequiredIdempotencyKey),
                (None, false) => all.push(Sent::IdempotencyKey),
                // Nobody's call is kept, so a key is refused.
                (None, true) => {}
            }
        }
        all.push(Sent::RequestId);
        all
    }

    fn query_parameter(
        &self,
        name: &str,
        schema: Object,
        required: bool,
        components: &Components,
    ) -> Object {
        let given = |called: &Called| {
            called.query.iter().find(|(own, _)| own == name).map(|(_, value)| value.clone())
        };
        let example = self.text_example(&schema, components, given);
        let parameter = Object::new().with("name", name).with("in", "query");
        let parameter = parameter.with("required", required);
        parameter.with("schema", schema).with_some("example", example)
    }

    /// The first text of the examples that fits a schema.
    fn text_example(
        &self,
        schema: &Object,
        components: &Components,
        given: impl Fn(&Called) -> Option<String>,
    ) -> Option<Json> {
        let fit = components.fit();
        self.calls.iter().filter_map(given).find_map(|text| fit.text(schema, &text))
    }

    /// The schema of an input, with its default.
    fn input_schema(&self, id: InputId, components: &Components) -> Object {
        let input = &self.contract.inputs[id];
        let schema = components.version.of_input(&input.kind);
        let default = input.default.as_ref().and_then(constant);
        let computed = input.default.as_ref().filter(|_| default.is_none());
        let source = computed.and_then(|default| self.model.text.get(default.span.range()));
        let note = source.map(|source| format!("Unless it is given: `{source}`."));
        let stands_in = self.model.version_input(self.contract) == Some(id);
        let note = match stands_in {
            true => Some(
                "The version that the caller has seen; `If-Match` may say it instead.".to_owned(),
            ),
            false => note,
        };
        let schema = described(schema, note).with_some("default", default);
        let nullable = input.place == Place::Body && self.model.takes_null(self.contract, id);
        if nullable { components.version.nullable(schema) } else { schema }
    }

    /// Whether a caller must give an input. An `If-Match` may stand for the version.
    fn is_required(&self, id: InputId) -> bool {
        let input = &self.contract.inputs[id];
        let stands_in = self.model.version_input(self.contract) == Some(id);
        !input.optional && input.default.is_none() && !stands_in
    }

    /// The body that the contract takes, if it has inputs there.
    fn body(&self, components: &mut Components) -> Option<Object> {
        let mut members = Vec::new();
        for (id, input) in self.inputs(Place::Body) {
            let schema = Json::from(self.input_schema(id, components));
            members.push((input.name.clone(), schema, self.is_required(id)));
        }
        if members.is_empty() {
            return None;
        }
        let required = members.iter().any(|(.., required)| *required);
        let schema = object(members).with("additionalProperties", false);
        let schema = components.add(&self.place.own.body, schema);
        let fit = components.fit();
        let bodies = self.calls.iter().filter(|called| called.status < 300);
        let example = bodies
            .filter_map(|called| called.body.as_ref())
            .find_map(|body| fit.value(&schema, body));
        let content = Object::new().with("schema", schema).with_some("example", example);
        let content = Object::new().with("application/json", content);
        Some(Object::new().with("required", required).with("content", content))
    }

    /// What the answers have by their status, and the shape of their bodies.
    fn successes(&self) -> (BTreeMap<u16, Success>, Option<Shape>) {
        let shapes = Shapes { model: self.model, contract: self.contract };
        let mut all: BTreeMap<u16, Success> = BTreeMap::new();
        let mut shape: Option<Shape> = None;
        each_step(&self.contract.steps, &mut |step| {
            let StepKind::Return(returned) = &step.kind else { return };
            let success = all.entry(returned.status).or_default();
            let Some(own) = shapes.returned(returned) else { return };
            success.has_body = true;
            success.has_path |= returned.at.is_some();
            success.has_tag |= self.model.tag_counter(self.contract, returned).is_some();
            shape = Some(match shape.take() {
                Some(shape) => shape.or(own, self.model),
                None => own,
            });
        });
        (all, shape)
    }

    fn responses(&self, components: &mut Components, takes_body: bool) -> Object {
        let (successes, shape) = self.successes();
        let schema = shape.map(|shape| components.answer(self.model, self.place, shape));
        let gets = self.contract.route.as_ref().is_some_and(|route| route.method == Method::Get);
        let mut all: BTreeMap<u16, Object> = BTreeMap::new();
        for (status, success) in &successes {
            let response = self.success(*status, success, schema.as_ref(), components);
            all.insert(*status, response);
            if gets && success.has_tag {
                let headers = ALWAYS.into_iter().chain([Answered::Etag, Answered::CacheControl]);
                let headers = headers.chain(self.freshness()).chain(self.limits());
                let response = Object::new()
                    .with("description", "The answer is the one that the caller has.")
                    .with("headers", components.answered(headers));
                all.insert(304, response);
            }
        }
        let refusals = Refusals::of(self.model, self.contract, takes_body, self.is_limited());
        let mut members = problem_members(refusals.codes());
        for member in &refusals.with {
            let schema = components.shape(self.model, self.place, member.shape.clone());
            members.push((member.name.clone(), schema.into(), false));
        }
        let problem = components.problem(self.place, object(members));
        for refusal in &refusals.all {
            let line = format!("`{}`: {}", refusal.code, refusal.when);
            let said = all.remove(&refusal.status);
            let before = said.as_ref().and_then(|response| response.get("description"));
            let description = match before.and_then(Json::as_text) {
                Some(before) => format!("{before}\n\n{line}"),
                None => line,
            };
            let more = match refusal.status {
                401 => Some(Answered::Challenge),
                415 => Some(Answered::Encoding),
                429 | 503 => Some(Answered::RetryAfter),
                _ => None,
            };
            let headers: Vec<Answered> = match refusal.status {
                // A path or a head that is too large reaches no contract.
                414 | 431 => SERVER_ALWAYS.to_vec(),
                _ => ALWAYS.into_iter().chain(more).chain(self.limits()).collect(),
            };
            let content = Object::new().with("schema", problem.clone());
            let response = Object::new()
                .with("description", description)
                .with("headers", components.answered(headers.into_iter()))
                .with("content", Object::new().with("application/problem+json", content));
            all.insert(refusal.status, response);
        }
        all.into_iter().map(|(status, response)| (status.to_string(), response.into())).collect()
    }

    /// Whether the server refuses those who call too often.
    fn is_limited(&self) -> bool {
        self.serving.limits_all || self.contract.facts.limit.is_some()
    }

    /// The headers of a contract whose calls are limited. An answer that comes before calls are counted, such as a
    /// 401, has none of them.
    fn limits(&self) -> impl Iterator<Item = Answered> + use<> {
        let all = [Answered::RateLimit, Answered::RateLimitPolicy];
        let limited = self.is_limited();
        all.into_iter().filter(move |_| limited)
    }

    /// The headers of a contract that may be answered from memory.
    fn freshness(&self) -> impl Iterator<Item = Answered> + use<> {
        let cached = self.contract.facts.cache.is_some();
        let varies = cached && self.contract.open.is_none();
        let own = [(cached, Answered::Age), (varies, Answered::Vary)];
        own.into_iter().filter(|(has, _)| *has).map(|(_, header)| header)
    }

    fn success(
        &self,
        status: u16,
        success: &Success,
        schema: Option<&Object>,
        components: &mut Components,
    ) -> Object {
        let own = [
            (true, Answered::CacheControl),
            (success.has_tag, Answered::Etag),
            (success.has_path, Answered::Place),
            (self.contract.keeps_records(), Answered::Replayed),
        ];
        let own = own.into_iter().filter(|(has, _)| *has).map(|(_, header)| header);
        let headers = ALWAYS.into_iter().chain(own).chain(self.freshness()).chain(self.limits());
        let headers = components.answered(headers);
        let description = match status {
            201 => "It is made.",
            202 => "It is accepted, and will be done.",
            204 => "It is done. There is no body.",
            _ => "The answer.",
        };
        let response = Object::new().with("description", description).with("headers", headers);
        let Some(schema) = schema.filter(|_| success.has_body) else { return response };
        let fit: Fit<'_> = components.fit();
        let answers = self.calls.iter().filter(|called| called.status == status);
        let example = answers
            .filter_map(|called| called.answer.as_ref())
            .find_map(|answer| fit.value(schema, answer));
        let content = Object::new().with("schema", schema.clone()).with_some("example", example);
        response.with("content", Object::new().with("application/json", content))
    }
}

/// The value of an expression that is the same in every call.
fn constant(expr: &Expr) -> Option<Json> {
    match &expr.kind {
        ExprKind::Word(word) => Some(word.as_str().into()),
        ExprKind::Number(number) => Some((*number).into()),
        ExprKind::Bool(truth) => Some((*truth).into()),
        ExprKind::Text(pieces) => match pieces.as_slice() {
            [] => Some("".into()),
            [TextPiece::Literal(text)] => Some(text.as_str().into()),
            _ => None,
        },
        _ => None,
    }
}
