//! How the process ends when its tasks end, in every way that they can.

use std::io;

use tokio::sync::oneshot;

use super::*;

/// A task that does as it is told.
async fn obedient(stop: CancellationToken) -> io::Result<()> {
    stop.cancelled().await;
    Ok(())
}

async fn ends() -> io::Result<()> {
    Ok(())
}

async fn fails() -> io::Result<()> {
    Err(io::Error::other("no more"))
}

async fn panics() -> io::Result<()> {
    panic!("on purpose")
}

/// The tasks of a process of which the other duty notes whether it was told to stop.
fn process() -> (Tasks, oneshot::Receiver<()>) {
    let (told, hears) = oneshot::channel();
    let mut tasks = Tasks::default();
    let (stop, last) = (tasks.stop(), tasks.last());
    tasks.duty("the other duty", async move {
        stop.cancelled().await;
        let _nobody_listens = told.send(());
        io::Result::Ok(())
    });
    tasks.service("the service", obedient(last));
    (tasks, hears)
}

#[tokio::test]
async fn a_task_that_ends_unbidden_stops_the_others_and_is_what_the_process_ends_with() {
    let words = |tasks: Tasks| async { tasks.run().await.unwrap_err().to_string() };
    let (mut tasks, hears) = process();
    tasks.duty("the duty", ends());
    assert_eq!(words(tasks).await, "the duty has ended unbidden");
    hears.await.unwrap();

    let (mut tasks, hears) = process();
    tasks.duty("the duty", fails());
    assert_eq!(words(tasks).await, "the duty has failed");
    hears.await.unwrap();

    let (mut tasks, hears) = process();
    tasks.duty("the duty", panics());
    assert_eq!(words(tasks).await, "the duty has panicked");
    hears.await.unwrap();

    let (mut tasks, hears) = process();
    tasks.service("the probe", ends());
    assert_eq!(words(tasks).await, "the probe has ended unbidden");
    hears.await.unwrap();
}

#[tokio::test]
async fn tasks_that_end_when_told_to_end_the_process_well() {
    let (tasks, hears) = process();
    tasks.stop().cancel();
    assert!(tasks.run().await.is_ok());
    hears.await.unwrap();
}

#[tokio::test]
async fn a_fault_after_the_stop_is_a_fault() {
    let (mut tasks, _hears) = process();
    let stop = tasks.stop();
    tasks.duty("the duty", async move {
        stop.cancelled().await;
        fails().await
    });
    tasks.stop().cancel();
    assert_eq!(tasks.run().await.unwrap_err().to_string(), "the duty has failed");
}

#[tokio::test]
async fn services_outlive_the_duties() {
    let (mut tasks, _hears) = process();
    let (stop, last) = (tasks.stop(), tasks.last());
    tasks.duty("the duty", async move {
        stop.cancelled().await;
        if last.is_cancelled() { fails().await } else { Ok(()) }
    });
    tasks.stop().cancel();
    assert!(tasks.run().await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_task_that_does_not_end_is_given_up() {
    let (mut tasks, _hears) = process();
    tasks.duty("the stubborn duty", std::future::pending::<io::Result<()>>());
    tasks.stop().cancel();
    assert!(tasks.run().await.is_ok());
}
