//! A run that is stopped while it validates an epoch continues to the same bits.

use std::ops::ControlFlow;
use zoetrope_config::Config;
use zoetrope_data::Quiet;
use zoetrope_run::Timeline;
use zoetrope_run::checkpoint::state_hash;
use zoetrope_train::interrupt::Interrupt;
use zoetrope_train::observer::{Observer, RunEvent};
use zoetrope_train::train::{Opened, Run};
use zoetrope_train::training_run::EpochEnd;

fn start(settings: &[&str]) -> Run {
    let builder = settings.iter().fold(Config::builder(), |builder, text| builder.set(text));
    let mut config = builder.build().unwrap();
    let opened = Opened::open(&mut config, &Quiet).unwrap();
    opened.start(config, None, Timeline::new()).unwrap()
}

/// Asks for the end after the last update of an epoch, before validation.
struct AtTheEnd<'a>(Option<&'a Interrupt>);

impl Observer for AtTheEnd<'_> {
    fn observe(&mut self, event: RunEvent<'_>) -> ControlFlow<()> {
        if matches!(event, RunEvent::Step { done, all, .. } if done == all) {
            self.0.into_iter().for_each(Interrupt::ask);
        }
        ControlFlow::Continue(())
    }
}

#[test]
fn an_epoch_that_was_stopped_while_it_was_validated_is_validated_later() {
    let snapshots = ["data.path=synthetic:demo?vertices=20&steps=40", "model.name=tgcn"];
    let events =
        ["data.path=synthetic:bipartite?users=20&items=9&tastes=3&events=400", "model.name=tgn"];
    for [data, model] in [snapshots, events] {
        let settings = [data, model, "model.hidden=8", "train.epochs=3"];
        let mut whole = start(&settings);
        let mut records = Vec::new();
        for _ in 0..3 {
            match whole.session_mut().epoch(&mut AtTheEnd(None)).unwrap() {
                EpochEnd::Finished(record) => records.push((record.loss, record.val)),
                EpochEnd::Interrupted => panic!("{model}: nobody interrupts"),
            }
        }
        let mut first = start(&settings);
        first.session_mut().epoch(&mut AtTheEnd(None)).unwrap();
        let interrupt = Interrupt::new();
        first.session_mut().stop_on(&interrupt);
        let end = first.session_mut().epoch(&mut AtTheEnd(Some(&interrupt))).unwrap();
        assert_eq!(end, EpochEnd::Interrupted, "{model}");
        let mut second = start(&settings);
        second.session_mut().restore(first.session().save()).unwrap();
        for (loss, val) in &records[1..] {
            match second.session_mut().epoch(&mut AtTheEnd(None)).unwrap() {
                EpochEnd::Finished(record) => {
                    // As text, because a measure without a value is NaN.
                    let [now, then] = [(record.loss, &record.val), (*loss, val)];
                    assert_eq!(format!("{now:?}"), format!("{then:?}"), "{model}");
                }
                EpochEnd::Interrupted => panic!("{model}: nobody interrupts"),
            }
        }
        let hash = |run: &Run| state_hash(&run.session().save());
        let [one, other] = [&whole, &second].map(hash);
        assert_eq!(one, other, "{model}");
    }
}
