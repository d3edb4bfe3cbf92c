//! What an object says it is.

use serde_json::Value;

use noderotation_core::nearest::{edits, is_near};

/// What can be judged, and what cannot.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    RotationPolicy,
    NodePool,
    NodeClaim,
    Node,
    Pod,
    PodDisruptionBudget,
    List,
    /// Something else, in words.
    Other(String),
}

const OURS: &str = "noderotation.io/v1alpha1";
const KARPENTERS: &str = "karpenter.sh/v1";

impl Kind {
    /// What an object is, by its `apiVersion` and `kind`.
    ///
    /// # Errors
    /// When it says neither, or was probably meant to be one of ours: the field at fault, and a sentence with it.
    pub(crate) fn of(object: &Value) -> Result<Self, (&'static str, String)> {
        let text = |field: &'static str, example: &str| match object.get(field) {
            Some(Value::String(text)) if !text.is_empty() => Ok(text.as_str()),
            Some(value) if !value.is_null() => Err((field, format!("{field}: {value} is not text; write for example {example}"))),
            Some(_) | None => Err(("", format!("{field}: is required; write for example {example}"))),
        };
        if !object.is_object() {
            return Err(("", "is not an object; write apiVersion, kind, metadata and spec".to_owned()));
        }
        let (version, kind) = (text("apiVersion", OURS)?, text("kind", "RotationPolicy")?);
        let group = version.split('/').next().unwrap_or_default();
        match (version, kind) {
            (OURS, "RotationPolicy") => Ok(Self::RotationPolicy),
            (KARPENTERS, "NodePool") => Ok(Self::NodePool),
            (KARPENTERS, "NodeClaim") => Ok(Self::NodeClaim),
            ("v1", "Node") => Ok(Self::Node),
            ("v1", "Pod") => Ok(Self::Pod),
            ("policy/v1", "PodDisruptionBudget") => Ok(Self::PodDisruptionBudget),
            ("v1", "List" | "NodeList" | "PodList")
            | ("policy/v1", "PodDisruptionBudgetList")
            | (OURS, "RotationPolicyList")
            | (KARPENTERS, "NodePoolList" | "NodeClaimList") => Ok(Self::List),
            (_, "RotationPolicy") => Err(("apiVersion", format!("apiVersion: {version:?} has no RotationPolicy; write {OURS}"))),
            (OURS, _) => Err(("kind", format!("kind: {kind:?} is not a kind of {OURS}; write RotationPolicy"))),
            (_, "NodePool" | "NodeClaim") if group == "karpenter.sh" => {
                Err(("apiVersion", format!("apiVersion: {version:?} is not read; write {KARPENTERS}, as Karpenter 1.0 and later serve it")))
            }
            (_, near) if is_near(edits(near, "RotationPolicy"), near) => {
                Err(("kind", format!("kind: {kind:?} of {version:?} is not known; did you mean RotationPolicy of {OURS}?")))
            }
            (version, kind) => Ok(Self::Other(format!("{kind} of {version}"))),
        }
    }

    /// The kind in words, for who passes it over.
    pub(crate) fn words(&self) -> String {
        match self {
            Self::RotationPolicy => format!("RotationPolicy of {OURS}"),
            Self::NodePool => format!("NodePool of {KARPENTERS}"),
            Self::NodeClaim => format!("NodeClaim of {KARPENTERS}"),
            Self::Node => "Node of v1".to_owned(),
            Self::Pod => "Pod of v1".to_owned(),
            Self::PodDisruptionBudget => "PodDisruptionBudget of policy/v1".to_owned(),
            Self::List => "List of v1".to_owned(),
            Self::Other(words) => words.clone(),
        }
    }
}
