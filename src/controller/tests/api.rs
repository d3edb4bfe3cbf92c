//! An API server in memory: objects with versions, conditional writes, selectors, and refusals on demand.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::http::request::Parts;
use axum::http::{Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

use crate::scripted::{Answer, refusal};

pub(super) const NODEPOOLS: &str = "nodepools";
pub(super) const NODECLAIMS: &str = "nodeclaims";
pub(super) const NODES: &str = "nodes";
pub(super) const PODS: &str = "pods";
pub(super) const POLICIES: &str = "rotationpolicies";

/// Something that happens before a request is served.
type Intervention = Box<dyn Fn(&Api) + Send>;

/// An API server. Clones share its objects.
#[derive(Clone, Default)]
pub(super) struct Api(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// By `collection/namespace/name`.
    objects: BTreeMap<String, Value>,
    version: u64,
    asked: Vec<String>,
    refusals: Vec<(String, u16, &'static str, u32)>,
    interventions: Vec<(String, Intervention)>,
    writes: usize,
    fault: Option<(usize, Fault)>,
}

/// What goes wrong with one write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Somebody else was faster.
    Conflict,
    /// It does not arrive.
    Lost,
    /// It arrives, and its answer does not.
    Unanswered,
}

fn key(collection: &str, object: &Value) -> String {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    format!("{collection}/{}/{}", text("namespace"), text("name"))
}

impl Api {
    pub(super) fn client(&self) -> Client {
        let api = self.clone();
        Client::new(tower::service_fn(move |request| api.clone().answer(request)), "default")
    }

    /// Creates an object, or replaces it.
    pub(super) fn put(&self, collection: &str, object: &Value) {
        let mut state = self.0.lock().unwrap();
        let key = key(collection, object);
        let mut object = object.clone();
        let metadata = object["metadata"].as_object_mut().unwrap();
        metadata.entry("uid").or_insert_with(|| json!(format!("uid-{key}")));
        state.version += 1;
        metadata.insert("resourceVersion".to_owned(), json!(state.version.to_string()));
        metadata.entry("creationTimestamp").or_insert_with(|| json!("2026-01-01T00:00:00Z"));
        state.objects.insert(key, object);
    }

    pub(super) fn get(&self, collection: &str, name: &str) -> Option<Value> {
        let state = self.0.lock().unwrap();
        let mut found =
            state.objects.iter().filter(|(key, _)| key.starts_with(&format!("{collection}/")) && key.ends_with(&format!("/{name}")));
        found.next().map(|(_, object)| object.clone())
    }

    pub(super) fn list(&self, collection: &str) -> Vec<Value> {
        let state = self.0.lock().unwrap();
        state.objects.iter().filter(|(key, _)| key.starts_with(&format!("{collection}/"))).map(|(_, object)| object.clone()).collect()
    }

    pub(super) fn delete(&self, collection: &str, name: &str) {
        let mut state = self.0.lock().unwrap();
        state.objects.retain(|key, _| !(key.starts_with(&format!("{collection}/")) && key.ends_with(&format!("/{name}"))));
    }

    /// Refuses the next `times` requests that begin with these words.
    pub(super) fn refuse_next(&self, words: &str, code: u16, reason: &'static str, times: u32) {
        self.0.lock().unwrap().refusals.push((words.to_owned(), code, reason, times));
    }

    /// Does something before the next request that begins with these words is served.
    pub(super) fn before(&self, words: &str, happens: impl Fn(&Self) + Send + 'static) {
        self.0.lock().unwrap().interventions.push((words.to_owned(), Box::new(happens)));
    }

    /// Lets something go wrong with one of the writes to come, counted from zero.
    pub(super) fn fail_write(&self, number: usize, fault: Fault) {
        let mut state = self.0.lock().unwrap();
        state.fault = Some((state.writes + number, fault));
    }

    /// Each request in a line.
    pub(super) fn asked(&self) -> Vec<String> {
        self.0.lock().unwrap().asked.clone()
    }

    /// The requests that change something.
    pub(super) fn writes(&self) -> Vec<String> {
        self.asked().into_iter().filter(|line| !(line.starts_with("READ") || line.starts_with("LIST"))).collect()
    }

    async fn answer(self, request: Request<Body>) -> Result<Response<Body>, std::convert::Infallible> {
        let (parts, body) = request.into_parts();
        let body = serde_json::from_slice(&body.collect_bytes().await.unwrap()).unwrap_or(Value::Null);
        let (code, answer) = self.serve(&parts, &body);
        Ok(Response::builder().status(code).body(Body::from(answer.to_string().into_bytes())).unwrap())
    }

    fn serve(&self, parts: &Parts, body: &Value) -> Answer {
        let request = Wanted::of(parts);
        let line = request.line(parts);
        let intervention = {
            let mut state = self.0.lock().unwrap();
            state.asked.push(line.clone());
            let position = state.interventions.iter().position(|(words, _)| line.starts_with(words.as_str()));
            position.map(|position| state.interventions.remove(position).1)
        };
        if let Some(happens) = intervention {
            happens(self);
        }
        let mut state = self.0.lock().unwrap();
        let refused = state.refusals.iter_mut().find(|(words, .., left)| *left > 0 && line.starts_with(words.as_str()));
        if let Some((_, code, reason, left)) = refused {
            *left -= 1;
            return refusal(*code, reason);
        }
        if parts.method == "GET" {
            return state.carry_out(&request, parts, body);
        }
        let fault = state.fault.filter(|(number, _)| *number == state.writes).map(|(_, fault)| fault);
        state.writes += 1;
        match fault {
            Some(Fault::Conflict) if parts.method != "POST" => refusal(409, "Conflict"),
            Some(Fault::Lost | Fault::Conflict) => refusal(500, "InternalError"),
            Some(Fault::Unanswered) => {
                state.carry_out(&request, parts, body);
                refusal(504, "Timeout")
            }
            None => state.carry_out(&request, parts, body),
        }
    }
}

/// What a request is about.
struct Wanted {
    collection: String,
    namespace: String,
    name: Option<String>,
    labels: String,
    fields: String,
}

impl Wanted {
    fn of(parts: &Parts) -> Self {
        let mut words: Vec<&str> = parts.uri.path().trim_start_matches('/').split('/').collect();
        // `api/v1` or `apis/group/version`.
        words.drain(..if words[0] == "api" { 2 } else { 3 });
        let namespace = if words[0] == "namespaces" { words.drain(..2).nth(1).unwrap() } else { "" };
        let query = parts.uri.query().unwrap_or_default();
        let parameter = |name: &str| {
            let value = query.split('&').find_map(|pair| pair.strip_prefix(&format!("{name}=")));
            value.unwrap_or_default().replace("%2F", "/").replace("%3D", "=").replace("%2C", ",")
        };
        Self {
            collection: words[0].to_owned(),
            namespace: namespace.to_owned(),
            name: words.get(1).map(|name| (*name).to_owned()),
            labels: parameter("labelSelector"),
            fields: parameter("fieldSelector"),
        }
    }

    /// `READ` is a list of one name.
    fn line(&self, parts: &Parts) -> String {
        let Some(name) = &self.name else {
            if let Some(name) = self.fields.strip_prefix("metadata.name=") {
                return format!("READ {}/{name}", self.collection);
            }
            let accept = parts.headers.get("accept").and_then(|value| value.to_str().ok()).unwrap_or_default();
            let metadata = if accept.contains("PartialObjectMetadataList") { " (metadata)" } else { "" };
            let verb = if parts.method == "GET" { "LIST" } else { parts.method.as_str() };
            return format!("{verb} {} {}{}{metadata}", self.collection, self.labels, self.fields);
        };
        format!("{} {}/{name}", parts.method, self.collection)
    }

    fn selects(&self, key: &str, object: &Value) -> bool {
        let labels = &object["metadata"]["labels"];
        let label = |term: &str| match term.split_once('=') {
            Some((key, value)) => labels[key] == value,
            None => term.is_empty() || labels.get(term).is_some(),
        };
        let field = match self.fields.split_once('=') {
            Some(("metadata.name", name)) => object["metadata"]["name"] == name,
            Some(("spec.nodeName", node)) => object["spec"]["nodeName"] == node,
            Some((other, _)) => panic!("{other}"),
            None => true,
        };
        key.starts_with(&format!("{}/{}", self.collection, self.namespace)) && self.labels.split(',').all(label) && field
    }
}

impl State {
    fn carry_out(&mut self, wanted: &Wanted, parts: &Parts, body: &Value) -> Answer {
        let Some(name) = &wanted.name else {
            if parts.method == "POST" {
                return self.create(wanted, body);
            }
            let items: Vec<&Value> = self.objects.iter().filter(|(key, object)| wanted.selects(key, object)).map(|(_, o)| o).collect();
            return (200, json!({"kind": "List", "apiVersion": "v1", "metadata": {}, "items": items}));
        };
        let key = format!("{}/{}/{name}", wanted.collection, wanted.namespace);
        let Some(object) = self.objects.get_mut(&key) else {
            return refusal(404, "NotFound");
        };
        let condition = if parts.method == "DELETE" { &body["preconditions"] } else { &body["metadata"] };
        let fits = |field: &str| condition[field].is_null() || condition[field] == object["metadata"][field];
        if !(fits("uid") && fits("resourceVersion")) {
            return refusal(409, "Conflict");
        }
        match parts.method.as_str() {
            "PATCH" => {
                merge(object, body);
                self.version += 1;
                object["metadata"]["resourceVersion"] = json!(self.version.to_string());
            }
            "DELETE" if wanted.collection == NODECLAIMS => {
                self.version += 1;
                object["metadata"]["deletionTimestamp"] = json!("2026-01-07T02:00:00Z");
                object["metadata"]["resourceVersion"] = json!(self.version.to_string());
            }
            "DELETE" => return (200, self.objects.remove(&key).unwrap()),
            other => panic!("{other}"),
        }
        (200, self.objects[&key].clone())
    }

    fn create(&mut self, wanted: &Wanted, body: &Value) -> Answer {
        let key = key(&wanted.collection, body);
        if self.objects.contains_key(&key) {
            return refusal(409, "AlreadyExists");
        }
        self.version += 1;
        let mut object = body.clone();
        object["metadata"]["uid"] = json!(format!("uid-{}", self.version));
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        object["metadata"]["creationTimestamp"] = json!("2026-01-07T02:00:00Z");
        self.objects.insert(key, object.clone());
        (201, object)
    }
}

/// A JSON merge patch.
fn merge(target: &mut Value, patch: &Value) {
    let Some(fields) = patch.as_object() else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (field, value) in fields {
        if value.is_null() {
            target.as_object_mut().unwrap().remove(field);
        } else {
            merge(&mut target[field], value);
        }
    }
}
