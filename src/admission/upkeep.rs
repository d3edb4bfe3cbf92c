//! Keeps certificate and registration as they should be, look by look.

#[cfg(test)]
mod tests;

use std::time::Duration;

use jiff::Timestamp;
use kube::api::Api;
use noderotation_cert::bundle::Bundle;
use noderotation_cert::pair::Pair;
use noderotation_cert::resolver::Resolver;
use noderotation_cert::rotation::Rules;
use noderotation_cert::serving::Serving;
use tokio::sync::Notify;
use tracing::{info, warn};

use super::certificate::Keeper;
use super::registration::{Outcomes, Registrar};
use super::tell::Teller;
use super::{ADMISSION, CERTIFICATE, Context, REGISTRATION};
use crate::telemetry::words;

/// Time between two looks at certificate and registration, and the longest between two tries.
const PERIOD: Duration = Duration::from_secs(10);
/// Time to the first try after something has gone wrong, and the shortest between two looks: whoever changes what we
/// repair, again and again, is answered no more often.
const RETRY: Duration = Duration::from_secs(1);

/// Certificate and registration of this replica.
pub(super) struct Upkeep<'a> {
    context: &'a Context,
    keeper: Keeper,
    registrar: Registrar,
    teller: Teller<'a>,
}

impl<'a> Upkeep<'a> {
    pub(super) fn new(context: &'a Context, resolver: Resolver) -> Self {
        let (options, client, namespace) = (&context.options, &context.client, &context.namespace);
        let secrets = Api::namespaced(client.clone(), namespace);
        let rules = Rules { names: context.names(), dwell: options.certificate_dwell };
        let registrar = Registrar {
            client: client.clone(),
            namespace: namespace.clone(),
            service: options.webhook_service.clone(),
            configuration: options.webhook_configuration.clone(),
            server_name: context.names().server(),
            dwell: options.certificate_dwell,
            writes: options.webhook_register,
            strangers: Default::default(),
        };
        let keeper = Keeper::new(secrets, &options.certificate_secret, options.certificates, Serving::new(rules, resolver));
        Self { context, keeper, registrar, teller: Teller::new(context) }
    }

    /// Looks for ever: when woken, and from time to time. A problem is told when it begins, changes and ends.
    pub(super) async fn run(&mut self, wake: &Notify) {
        let mut told = String::new();
        let mut wait = RETRY;
        loop {
            let problem = self.look(Timestamp::now()).await.err().unwrap_or_default();
            let changed = problem != told;
            if changed && problem.is_empty() {
                info!("admission endpoint is as it should be");
            } else if changed {
                warn!(problem, "admission endpoint is not as it should be, trying again");
            }
            wait = match (problem.is_empty(), changed) {
                (true, _) => PERIOD,
                (false, true) => RETRY,
                (false, false) => (wait * 2).min(PERIOD),
            };
            told = problem;
            tokio::time::sleep(RETRY).await;
            // A timeout is what makes it a look from time to time.
            let _elapsed = tokio::time::timeout(wait.saturating_sub(RETRY), wake.notified()).await;
        }
    }

    /// One look; an error is what keeps the endpoint from being as it should be.
    async fn look(&mut self, now: Timestamp) -> Result<(), String> {
        let kept = self.keeper.keep(now).await;
        self.teller.certificate(&kept, self.keeper.version());
        let problem = kept.as_ref().err().map(|error| words(error)).unwrap_or_default();
        self.context.readiness.inform(CERTIFICATE, kept.is_ok(), problem.clone());
        // What is served goes on, and is kept registered, whatever has become of the Secret.
        let served = kept.ok().map(|kept| (kept.taken.pair, kept.taken.bundle)).or_else(|| self.keeper.served());
        let Some((pair, bundle)) = served else {
            self.context.readiness.require(ADMISSION, false, problem.clone());
            return Err(problem);
        };
        let registered = self.register(&pair, &bundle, now).await;
        let problems: Vec<String> = [problem, registered.err().unwrap_or_default()].into_iter().filter(|text| !text.is_empty()).collect();
        if problems.is_empty() { Ok(()) } else { Err(problems.join("; ")) }
    }

    /// Compares the configurations with what is served.
    async fn register(&mut self, pair: &Pair, bundle: &Bundle, now: Timestamp) -> Result<(), String> {
        let outcomes = match self.registrar.keep(pair, bundle, now).await {
            Ok(outcomes) => outcomes,
            Err(error) => {
                let problem = words(&error);
                self.teller.unregistered();
                self.context.readiness.require(ADMISSION, true, "");
                self.context.readiness.inform(REGISTRATION, false, problem.clone());
                return Err(problem);
            }
        };
        outcomes.iter().for_each(|(kind, outcome)| self.teller.registration(*kind, outcome));
        if let Some(trusted) = trusted_by_all(&outcomes) {
            self.keeper.trust(&trusted, now);
        }
        let errors: Vec<_> = outcomes.iter().filter_map(|(_, outcome)| outcome.as_ref().err()).collect();
        let problem = errors.iter().map(|error| words(*error)).collect::<Vec<_>>().join("; ");
        let distrust = errors.iter().find(|error| error.is_distrust()).map(|error| words(*error));
        self.context.readiness.require(ADMISSION, distrust.is_none(), distrust.unwrap_or_default());
        self.context.readiness.inform(REGISTRATION, errors.is_empty(), problem.clone());
        if errors.is_empty() { Ok(()) } else { Err(problem) }
    }
}

/// The roots that every configuration names of those that could be seen.
fn trusted_by_all(outcomes: &Outcomes) -> Option<Bundle> {
    let mut seen = outcomes.iter().filter_map(|(_, outcome)| outcome.as_ref().ok()).map(|registered| &registered.trusted);
    let first = seen.next()?;
    let others: Vec<&Bundle> = seen.collect();
    Some(first.roots().filter(|root| others.iter().all(|other| other.contains(root))).fold(Bundle::default(), Bundle::joined_by))
}
