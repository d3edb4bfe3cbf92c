//! What the command `cleanup` looks at and writes; what that is to be, `noderotation_core::cleanup` says.

use noderotation_core::cleanup::{Plan, Scope, plan};
use noderotation_core::rotation::effect::Effect;
use noderotation_core::sweep::Repair;

use crate::controller::apply::{self, Executor};
use crate::controller::reconcile::{TRIES, step_aside};
use crate::controller::{Context, markers, observe};

/// What is to be done now.
///
/// # Errors
/// When something cannot be read.
pub(crate) async fn look(context: &Context, scope: Scope<'_>) -> Result<Plan, observe::Error> {
    let marked = markers::marked_in_cluster(context).await?;
    // Last: a marker whose anchor has come since is owned.
    let pools = markers::if_served(markers::pools(context).await)?;
    Ok(plan(&marked, &pools, scope, context.clock.now()))
}

/// How it ended.
pub(crate) struct Outcome {
    /// What is there now.
    pub(crate) plan: Plan,
    /// Why something could not be written.
    pub(crate) failures: Vec<apply::Error>,
}

/// Looks and writes until a look finds nothing to write, and tells each write that has landed.
///
/// What fails, fails with the rest of its list; after a lost race another look follows.
///
/// # Errors
/// When something cannot be read.
pub(crate) async fn carry_out(context: &Context, scope: Scope<'_>, mut told: impl FnMut(&str, &Effect)) -> Result<Outcome, observe::Error> {
    let mut failures = Vec::new();
    for tries in 0..=TRIES {
        let plan = look(context, scope).await?;
        if plan.repairs.is_empty() || !failures.is_empty() {
            return Ok(Outcome { plan, failures });
        }
        for Repair { pool, effects } in plan.repairs {
            match write(context, effects.into_iter().map(|planned| planned.effect), |effect| told(&pool, effect)).await {
                Ok(()) | Err(apply::Error::Conflict(_)) => {}
                Err(error) => failures.push(error),
            }
        }
        step_aside(tries).await;
    }
    Ok(Outcome { plan: look(context, scope).await?, failures })
}

/// In order, up to the first that fails.
async fn write(context: &Context, effects: impl Iterator<Item = Effect>, mut told: impl FnMut(&Effect)) -> Result<(), apply::Error> {
    let mut executor = Executor::new(context);
    for effect in effects {
        executor.carry_out(vec![effect.clone().into()], |_| {}).await?;
        told(&effect);
    }
    Ok(())
}
