//! Takes off what a rotation has left on Nodes, and its placeholder (I5).

use k8s_openapi::api::core::v1::Node;

use crate::rotation::effect::Planned;
use crate::rotation::mark;
use crate::rotation::observation::{CloseUp, Seen};
use crate::rotation::reservation::delete_placeholder;

/// Deletes the placeholder of `claim` and takes our marks off every Node that carries them for it.
///
/// Nodes are found by their marks, so that nothing depends on remembering which they were (I5).
pub(super) fn clean_up(close_up: &CloseUp, claim: &str) -> Seen<Vec<Planned>> {
    let nodes = close_up.pool_nodes()?;
    let ours = close_up.own_placeholder().filter(|pod| pod.metadata.deletion_timestamp.is_none());
    let mut effects: Vec<Planned> = ours.map(delete_placeholder).map(Planned::from).into_iter().collect();
    let marked = nodes.iter().filter(|node: &&Node| mark::is_marked_for(node, claim));
    effects.extend(marked.filter_map(mark::unmark).map(Planned::from));
    Seen::Continue(effects)
}
