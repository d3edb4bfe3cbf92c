//! The rights that a rendered chart grants: its roles, for the accounts that its bindings bind them to.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, bail, ensure};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, PolicyRule, Role, RoleBinding, RoleRef, Subject};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::serde::de::DeserializeOwned;
use serde_json::Value;

use super::Right;
use crate::chart;

/// Namespace, if it has one, and name of a role.
type Key = (Option<String>, String);

/// Every right of every account, as often as it is granted.
///
/// # Errors
/// When it is not readable, binds what it does not have or leaves a role unbound, or grants what no log can show to be used:
/// anything to anybody but a ServiceAccount, a wildcard, a path, the rules of other roles.
pub fn rights(rendered: &str) -> Result<Vec<Right>> {
    let (mut roles, mut bindings) = (BTreeMap::new(), Vec::new());
    for object in chart::documents(rendered)? {
        match object.get("kind").and_then(Value::as_str).unwrap_or_default() {
            "ClusterRole" => {
                let role: ClusterRole = typed(object)?;
                ensure!(role.aggregation_rule.is_none(), "ClusterRole {:?} takes its rules from others", role.metadata.name);
                roles.insert((None, role.metadata.name.unwrap_or_default()), role.rules.unwrap_or_default());
            }
            "Role" => {
                let role: Role = typed(object)?;
                roles.insert((role.metadata.namespace, role.metadata.name.unwrap_or_default()), role.rules.unwrap_or_default());
            }
            "ClusterRoleBinding" => {
                let binding: ClusterRoleBinding = typed(object)?;
                bindings.push(Binding::new(binding.metadata, binding.role_ref, binding.subjects));
            }
            "RoleBinding" => {
                let binding: RoleBinding = typed(object)?;
                bindings.push(Binding::new(binding.metadata, binding.role_ref, binding.subjects));
            }
            _ => {}
        }
    }
    bound(&roles, &bindings)
}

fn typed<T: DeserializeOwned>(object: Value) -> Result<T> {
    serde_json::from_value(object).context("reading a role or a binding of the rendered chart")
}

/// A binding of either kind.
struct Binding {
    name: String,
    /// Where the rights hold; `None` for the whole cluster.
    namespace: Option<String>,
    role: Key,
    subjects: Vec<Subject>,
}

impl Binding {
    fn new(metadata: ObjectMeta, role: RoleRef, subjects: Option<Vec<Subject>>) -> Self {
        let of_namespace = metadata.namespace.clone().filter(|_| role.kind == "Role");
        Self {
            name: metadata.name.unwrap_or_default(),
            namespace: metadata.namespace,
            role: (of_namespace, role.name),
            subjects: subjects.unwrap_or_default(),
        }
    }
}

fn bound(roles: &BTreeMap<Key, Vec<PolicyRule>>, bindings: &[Binding]) -> Result<Vec<Right>> {
    let mut found = Vec::new();
    for Binding { name, namespace, role, subjects } in bindings {
        let rules = roles.get(role).with_context(|| format!("{name} binds {role:?}, which the chart does not have"))?;
        for subject in subjects {
            let account = match (subject.kind.as_str(), &subject.namespace) {
                ("ServiceAccount", Some(namespace)) => format!("system:serviceaccount:{namespace}:{}", subject.name),
                _ => bail!("{name} binds {} {}, which is no ServiceAccount with its namespace", subject.kind, subject.name),
            };
            for rule in rules {
                of_rule(rule, &account, namespace.as_ref(), &mut found).with_context(|| format!("{role:?}"))?;
            }
        }
    }
    let used: BTreeSet<&Key> = bindings.iter().map(|binding| &binding.role).collect();
    let unbound: Vec<&Key> = roles.keys().filter(|role| !used.contains(role)).collect();
    ensure!(unbound.is_empty(), "nobody is bound to {unbound:?}");
    Ok(found)
}

fn of_rule(rule: &PolicyRule, account: &str, namespace: Option<&String>, found: &mut Vec<Right>) -> Result<()> {
    let list = |entries: &Option<Vec<String>>| entries.clone().unwrap_or_default();
    ensure!(list(&rule.non_resource_urls).is_empty(), "a rule for paths cannot be compared: {rule:?}");
    let (groups, resources) = (list(&rule.api_groups), list(&rule.resources));
    let wild = groups.iter().chain(&resources).chain(&rule.verbs).any(|word| word.contains('*'));
    ensure!(!wild, "a wildcard grants what nobody can know yet: {rule:?}");
    ensure!(!groups.is_empty() && !resources.is_empty() && !rule.verbs.is_empty(), "a rule that grants nothing: {rule:?}");
    let named: Vec<Option<String>> = list(&rule.resource_names).into_iter().map(Some).collect();
    let names = if named.is_empty() { vec![None] } else { named };
    for (group, resource) in groups.iter().flat_map(|group| resources.iter().map(move |resource| (group, resource))) {
        for (verb, name) in rule.verbs.iter().flat_map(|verb| names.iter().map(move |name| (verb, name))) {
            let [account, group, resource, verb] = [account, group, resource, verb].map(str::to_owned);
            found.push(Right { account, group, resource, verb, namespace: namespace.cloned(), name: name.clone() });
        }
    }
    Ok(())
}
