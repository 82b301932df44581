//! A model of one's own, composed of encoders, is shared by ranks like those that have a name.

use std::collections::BTreeMap;
use std::sync::Arc;

use zoetrope_config::Config;
use zoetrope_data::Quiet;
use zoetrope_dist::{Ranks, Reduction, Timeouts, threads};
use zoetrope_graph::laplacian::Laplacian;
use zoetrope_nn::forward::Updates;
use zoetrope_nn::model::Stack;
use zoetrope_nn::optimiser::Gradients;
use zoetrope_nn::structure::{Chebyshev, Gat, Gcn, Sage};
use zoetrope_nn::time::{Gru, Lstm, MProduct};
use zoetrope_nn::{Builder, Forward, NnError, Parameters, State};
use zoetrope_run::Timeline;
use zoetrope_tensor::{Activation, Device, Seed, Tape};
use zoetrope_train::TrainError;
use zoetrope_train::snapshots::engine::{FrameRunner, FrameSharing, Layout, Piece};
use zoetrope_train::snapshots::material::SnapshotInput;
use zoetrope_train::snapshots::session::Session;

/// Every structure encoder of the library, each before another time encoder or the same again.
fn model(parameters: &mut Parameters, features: usize) -> Result<Stack, NnError> {
    let mut builder = Builder::new(parameters, 7);
    let laplacian = Laplacian::Symmetric;
    Stack::new("one of one's own")
        .block(
            Sage::new(&mut builder.child("sage"), features, 6),
            Gru::new(&mut builder.child("gru"), 6, 5),
        )?
        .block(Gat::new(&mut builder.child("gat"), 5, 3, 2), MProduct::new(3, 6))?
        .block(
            Chebyshev::new(&mut builder.child("chebyshev"), 6, 4, 3, laplacian),
            Lstm::new(&mut builder.child("lstm"), 4, 4),
        )?
        .block(
            Gcn::new(&mut builder.child("gcn"), 4, 6, Activation::Relu),
            Gru::new(&mut builder.child("last"), 6, 4),
        )
}

/// The rows of each snapshot, and the gradients of all parameters if all rows count the same.
type Found = (BTreeMap<usize, Vec<f32>>, Vec<f32>);

const STEPS: usize = 6;

fn found(strategy: &str, ranks: Option<Ranks>) -> Result<Found, TrainError> {
    let settings = format!(
        "model.name=tgcn data.path=synthetic:demo?vertices=19&steps=20 train.frame={STEPS} {strategy}"
    );
    let builder = settings.split_whitespace().fold(Config::builder(), |b, s| b.set(s));
    let mut config = builder.build()?;
    config.train.ranks = ranks.as_ref().map_or(1, Ranks::size);
    let material = SnapshotInput::open(&config, &Quiet)?;
    let (sequence, features) = (Arc::clone(&material.sequence), Arc::clone(&material.features));
    let session = Session::start_shared(config, material, None, Timeline::new(), ranks.clone())?;
    let sharing = ranks.as_ref().and_then(|ranks| FrameSharing::of(session.plan(), ranks));
    assert_eq!(sharing.is_some(), ranks.is_some());
    let (mut parameters, device) = (Parameters::default(), Device::Cpu);
    let model = model(&mut parameters, features.shape().cols)?;
    let layout = Layout::plain(&model, true);
    let mut runner = FrameRunner::new(&sequence, &features, &model, layout, &device, sharing)?;
    let (mut tape, mut updates) = (Tape::new(), Updates::default());
    let mut forward = Forward::training(&mut tape, &parameters, &mut updates, 1, 0);
    let piece = Piece::whole(2..2 + STEPS, STEPS);
    let output = runner.embed(&mut forward, &model, &piece, State::default())?;
    let mut rows = BTreeMap::new();
    for step in output.steps.clone() {
        let mut of_step = vec![0.0; 19 * 4];
        output.read(&tape, step, &mut of_step);
        rows.insert(step, of_step);
    }
    tape.backward_from_all(&[(output.rows, Seed::Number(1.0))])?;
    let mut gradients = Gradients::new(&parameters);
    gradients.take_from(&mut tape, &parameters);
    let mut sums = Vec::new();
    for (id, parameter) in parameters.iter() {
        match gradients.get(id) {
            Some(found) => sums.extend_from_slice(found),
            None => sums.resize(sums.len() + parameter.matrix.shape().len(), 0.0),
        }
    }
    if let Some(ranks) = &ranks {
        ranks.check()?;
        ranks.all_reduce(&mut sums, Reduction::Sum)?;
    }
    Ok((rows, sums))
}

fn expect_near(what: &str, expected: &[f32], found: &[f32]) {
    assert_eq!(expected.len(), found.len(), "{what}");
    let largest = expected.iter().fold(0.0_f32, |most, one| most.max(one.abs()));
    for (one, other) in expected.iter().zip(found) {
        assert!((one - other).abs() <= 1e-5 * largest, "{what}: {one} became {other}");
    }
}

#[test]
fn a_stack_of_every_encoder_is_shared_by_every_strategy() {
    let (rows, gradients) = found("", None).unwrap();
    for (strategy, size) in [("snapshot", 3), ("vertex", 2), ("hypergraph", 4), ("hybrid", 4)] {
        let shared = format!("plan.strategy={strategy}");
        let all = threads::run(size, Timeouts::default(), move |ranks| found(&shared, Some(ranks)));
        let all = all.unwrap_or_else(|error| panic!("{strategy}: {error}"));
        let mut answered = 0;
        for (of_rank, sums) in &all {
            answered += of_rank.len();
            for (step, found) in of_rank {
                expect_near(&format!("{strategy}, snapshot {step}"), &rows[step], found);
            }
            expect_near(&format!("{strategy}, gradients"), &gradients, sums);
        }
        assert_eq!(answered, STEPS, "each snapshot is answered for once");
    }
}
