//! What the rules of the policy domain cost. `make bench` runs them; docs/performance.md has the figures.

mod subjects;

use criterion::{Criterion, criterion_group, criterion_main};

fn all(criterion: &mut Criterion) {
    for make in subjects::ALL {
        for subject in make() {
            criterion.bench_function(&subject.name, |b| b.iter(|| (subject.run)()));
        }
    }
}

criterion_group!(benches, all);
criterion_main!(benches);
