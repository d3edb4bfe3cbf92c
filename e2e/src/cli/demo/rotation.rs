//! The rotation as it happens.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

use e2e::cluster::Cluster;
use e2e::fleet::Fleet;
use e2e::operator::Operator;
use e2e::sight::Sight;
use e2e::story::{Progress, Stage};
use e2e::terminal::{elapsed, say};

/// The whole rotation must be over within this time, on a busy machine.
const DEADLINE: Duration = Duration::from_secs(180);
/// Time between two looks: short, or a stage would be missed.
const PERIOD: Duration = Duration::from_millis(50);

/// Tells each stage when it is seen, until the last.
pub(super) async fn watch(cluster: &mut Cluster, operator: &mut Operator, fleet: &Fleet, before: &Sight) -> Result<()> {
    let oldest = before.claims.first().context("there is no NodeClaim to rotate")?;
    let mut progress = Progress::new(before, oldest);
    say(&format!("NodeClaim {} is the oldest. The policy lets it be replaced once it is old enough.", oldest.name));
    let begun = Instant::now();
    while !progress.over() {
        if begun.elapsed() >= DEADLINE {
            bail!("the rotation did not get beyond this point in {}", elapsed(DEADLINE));
        }
        operator.check()?;
        cluster.check()?;
        let sight = Sight::of(cluster, &fleet.name).await?;
        for (stage, sentence) in progress.look(&sight) {
            say(&format!("    {:>6}  {:<12} {sentence}", elapsed(begun.elapsed()), name(stage)));
        }
        tokio::time::sleep(PERIOD).await;
    }
    Ok(())
}

fn name(stage: Stage) -> &'static str {
    match stage {
        Stage::Started => "started",
        Stage::Reserving => "placeholder",
        Stage::Bound => "bound",
        Stage::Draining => "drain",
        Stage::Gone => "gone",
        Stage::Moved => "moved",
        Stage::Released => "completed",
    }
}
