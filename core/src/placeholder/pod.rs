//! The Pod object of a placeholder (D7).

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Affinity, Capabilities, Container, LocalObjectReference, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod,
    PodSecurityContext, PodSpec, PreferredSchedulingTerm, ResourceRequirements, SeccompProfile, SecurityContext, Toleration,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::requirement::replicated;
use super::{Request, label_value, name};
use crate::annotation::{DO_NOT_DISRUPT, HOSTNAME_LABEL, NODEPOOL_LABEL, SURGE_FOR};

/// Nobody; the pause image runs as any user.
const USER: i64 = 65_535;
/// Weight of the term that keeps the surge off hosts that are to be rotated.
const EXCLUSION_WEIGHT: i32 = 100;
/// Weight of a replicated label that is only preferred.
const PREFERENCE_WEIGHT: i32 = 1;

/// The Pod with the given requests.
pub(super) fn build(request: &Request<'_>, requests: &BTreeMap<String, Quantity>) -> Pod {
    Pod {
        metadata: ObjectMeta {
            name: Some(name(request.claim)),
            namespace: Some(request.namespace.to_owned()),
            labels: Some(map([
                ("app.kubernetes.io/name", "node-rotation-controller"),
                ("app.kubernetes.io/component", "placeholder"),
                (NODEPOOL_LABEL, request.pool),
                (SURGE_FOR, &label_value(request.claim)),
            ])),
            annotations: Some(map([(SURGE_FOR, request.claim), (DO_NOT_DISRUPT, "true")])),
            ..ObjectMeta::default()
        },
        spec: Some(PodSpec {
            affinity: Some(Affinity { node_affinity: Some(affinity(request)), ..Affinity::default() }),
            automount_service_account_token: Some(false),
            containers: vec![container(request.image, requests)],
            enable_service_links: Some(false),
            image_pull_secrets: pull_secrets(request),
            preemption_policy: Some("Never".to_owned()),
            priority_class_name: Some(request.priority_class.to_owned()),
            security_context: Some(PodSecurityContext {
                run_as_non_root: Some(true),
                run_as_user: Some(USER),
                run_as_group: Some(USER),
                seccomp_profile: Some(SeccompProfile { type_: "RuntimeDefault".to_owned(), ..SeccompProfile::default() }),
                ..PodSecurityContext::default()
            }),
            termination_grace_period_seconds: Some(0),
            tolerations: Some(tolerations(request)),
            ..PodSpec::default()
        }),
        status: None,
    }
}

/// Absent without any, so that the Pod is as it was before there were such.
fn pull_secrets(request: &Request<'_>) -> Option<Vec<LocalObjectReference>> {
    let references = request.image_pull_secrets.iter().map(|name| LocalObjectReference { name: name.clone() });
    (!request.image_pull_secrets.is_empty()).then(|| references.collect())
}

fn map<const N: usize>(pairs: [(&str, &str); N]) -> BTreeMap<String, String> {
    pairs.into_iter().map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
}

fn container(image: &str, requests: &BTreeMap<String, Quantity>) -> Container {
    let limits: BTreeMap<String, Quantity> =
        requests.iter().filter(|(name, _)| needs_limit(name)).map(|(name, quantity)| (name.clone(), quantity.clone())).collect();
    Container {
        name: "pause".to_owned(),
        image: Some(image.to_owned()),
        resources: Some(ResourceRequirements {
            requests: Some(requests.clone()),
            limits: (!limits.is_empty()).then_some(limits),
            ..ResourceRequirements::default()
        }),
        security_context: Some(SecurityContext {
            allow_privilege_escalation: Some(false),
            capabilities: Some(Capabilities { drop: Some(vec!["ALL".to_owned()]), ..Capabilities::default() }),
            read_only_root_filesystem: Some(true),
            ..SecurityContext::default()
        }),
        ..Container::default()
    }
}

/// The API server admits hugepages and extended resources only with a limit that equals the request.
fn needs_limit(resource: &str) -> bool {
    resource.starts_with("hugepages-") || (resource.contains('/') && !resource.starts_with("kubernetes.io/"))
}

/// The template's taints, exactly; startup taints are gone once a node is ready.
fn tolerations(request: &Request<'_>) -> Vec<Toleration> {
    let toleration = |taint: &k8s_openapi::api::core::v1::Taint| Toleration {
        key: Some(taint.key.clone()),
        operator: Some("Equal".to_owned()),
        value: Some(taint.value.clone().unwrap_or_default()),
        effect: Some(taint.effect.clone()),
        ..Toleration::default()
    };
    request.pool_taints.iter().map(toleration).collect()
}

/// The pool and the replicated labels are required. The hosts to avoid are only preferred against: Karpenter refuses
/// to provision for a Pod with a required hostname term.
fn affinity(request: &Request<'_>) -> NodeAffinity {
    let values = |key: &String| replicated(request, key).map(|values| expression(key, "In", values));
    let mut required = vec![expression(NODEPOOL_LABEL, "In", vec![request.pool.to_owned()])];
    required.extend(request.required_keys.iter().filter_map(values));
    let mut preferred = Vec::new();
    if !request.excluded_hostnames.is_empty() {
        let hosts = request.excluded_hostnames.iter().cloned().collect();
        preferred.push(preference(EXCLUSION_WEIGHT, expression(HOSTNAME_LABEL, "NotIn", hosts)));
    }
    let wished = request.preferred_keys.iter().filter_map(values);
    preferred.extend(wished.map(|expression| preference(PREFERENCE_WEIGHT, expression)));
    NodeAffinity {
        required_during_scheduling_ignored_during_execution: Some(NodeSelector { node_selector_terms: vec![term(required)] }),
        preferred_during_scheduling_ignored_during_execution: Some(preferred),
    }
}

fn expression(key: &str, operator: &str, values: Vec<String>) -> NodeSelectorRequirement {
    NodeSelectorRequirement { key: key.to_owned(), operator: operator.to_owned(), values: Some(values) }
}

fn term(expressions: Vec<NodeSelectorRequirement>) -> NodeSelectorTerm {
    NodeSelectorTerm { match_expressions: Some(expressions), ..NodeSelectorTerm::default() }
}

fn preference(weight: i32, expression: NodeSelectorRequirement) -> PreferredSchedulingTerm {
    PreferredSchedulingTerm { weight, preference: term(vec![expression]) }
}
