//! Attention over neighbours against plain f64 loops; blocks of queries.

use super::*;
use crate::cpu::dropout::DropoutKey;
use crate::cpu::test_support::{assert_close, everywhere, exact, numbers};
use zoetrope_graph::random::Random;

/// Targets of 0 to 24 slots over 7 queries, 40 rows and 30 events.
fn layout(targets: usize) -> Neighbourhood {
    let random = Random::new(5, 0);
    let below = |what: u64, at: usize, bound: u64| random.below(what << 32 | at as u64, bound);
    let mut layout = Neighbourhood { offsets: vec![0], ..Neighbourhood::default() };
    for target in 0..targets {
        let slots = below(1, target, 25) as u32;
        layout.offsets.push(layout.offsets[target] + if target % 5 == 3 { 0 } else { slots });
        layout.query.push(below(2, target, 7) as u32);
    }
    let slots = layout.offsets[targets] as usize;
    layout.source = (0..slots).map(|at| below(3, at, 40) as u32).collect();
    layout.event = (0..slots).map(|at| below(4, at, 30) as u32).collect();
    layout.index(7, 40);
    layout
}

#[test]
fn results_agree_with_f64_and_weights_keep_the_sign_of_the_score() {
    let layout = layout(60);
    let deltas: Vec<f64> = exact(&numbers(6, layout.slots(), 1e6));
    for (heads, widths) in [(1, [5, 3, 4]), (2, [100, 172, 100]), (3, [17, 0, 1])] {
        let [m, f, t] = widths;
        let x_width = m + f + t + 1;
        let queries = numbers(1, 7 * heads * x_width, 1.0);
        let (rows, features) = (numbers(2, 40 * m, 1.0), numbers(3, 30 * f, 1.0));
        let (weight, bias) = (numbers(4, t, 1.0), numbers(5, t, 1.0));
        let key = DropoutKey { seed: 3, stream: 1, step: 2 };
        let call = NeighbourCall {
            layout: &layout,
            heads,
            scale: 0.3,
            slope: Some(0.2),
            dropout: Some(Dropout { p: 0.25, key }),
            queries: &queries,
            rows: (&rows, m),
            features: (&features, f),
            time: Some([&weight, &bias]),
            deltas: &deltas,
        };
        let (expected, signs) = reference(&call);
        let run = || {
            let mut out = vec![f32::NAN; 60 * heads * x_width];
            let mut alpha = vec![f32::NAN; layout.slots() * heads];
            neighbour_attention_forward(&call, &mut out, &mut alpha);
            out.extend(alpha);
            out
        };
        everywhere(run, |level, got| {
            let (out, alpha) = got.split_at(expected.len());
            assert_close(level, out, &expected, 2e-5);
            for (alpha, score) in alpha.iter().zip(&signs) {
                // Nearer to 0 the last bits decide.
                assert!(alpha.is_sign_negative() == (*score < 0.0) || score.abs() < 1e-4);
            }
        });
    }
}

/// Results, and scores before the leaky relu.
fn reference(call: &NeighbourCall) -> (Vec<f64>, Vec<f64>) {
    let (heads, width) = (call.heads, call.width());
    let mask = call.dropout.map(Mask::from);
    let [weight, bias] = call.time.expect("with time");
    let x_of = |slot: usize| {
        let source = call.layout.source[slot] as usize * call.rows.1;
        let mut x = exact(&call.rows.0[source..][..call.rows.1]);
        let event = call.layout.event[slot] as usize * call.features.1;
        x.extend(exact(&call.features.0[event..][..call.features.1]));
        let phases = weight.iter().zip(bias);
        x.extend(phases.map(|(w, b)| (f64::from(*w) * call.deltas[slot] + f64::from(*b)).cos()));
        x.push(1.0);
        x
    };
    let mut out = vec![0.0; call.layout.targets() * heads * width];
    let mut scores = vec![0.0; call.layout.slots() * heads];
    for target in 0..call.layout.targets() {
        for head in 0..heads {
            let place = (call.layout.query[target] as usize * heads + head) * width;
            let query = exact(&call.queries[place..][..width]);
            let mut total = 0.0;
            for slot in call.slots(target) {
                let dot: f64 = x_of(slot).iter().zip(&query).map(|(x, q)| x * q).sum();
                scores[slot * heads + head] = dot * f64::from(call.scale);
            }
            let weight_of = |slot: usize| {
                let s: f64 = scores[slot * heads + head];
                if s < 0.0 { f64::from(call.slope.unwrap_or(1.0)) * s } else { s }.exp()
            };
            call.slots(target).for_each(|slot| total += weight_of(slot));
            for slot in call.slots(target) {
                let factor = mask.map_or(1.0, |mask| mask.factor((slot * heads + head) as u64));
                let out = &mut out[(target * heads + head) * width..][..width];
                for (out, x) in out.iter_mut().zip(x_of(slot)) {
                    *out += weight_of(slot) / total * f64::from(factor) * x;
                }
            }
        }
    }
    (out, scores)
}

#[test]
fn blocks_have_all_queries_once_however_slots_are_spread() {
    // All slots at the first query, at the last one, one each, none.
    for slots in [vec![9000, 0, 0], vec![0, 0, 9000], vec![1; 400], vec![0; 9], vec![100; 300]] {
        let mut layout = Neighbourhood { offsets: vec![0], ..Neighbourhood::default() };
        for (query, count) in slots.iter().enumerate() {
            layout.offsets.push(layout.offsets[query] + count);
            layout.query.push(query as u32);
        }
        layout.source = vec![0; *layout.offsets.last().unwrap() as usize];
        layout.index(slots.len(), 1);
        let (blocks, bounds) = cut(&layout, slots.len());
        assert!((1..=BLOCKS).contains(&blocks));
        assert_eq!((bounds[0], bounds[blocks]), (0, slots.len() as u32));
        assert!(bounds[..=blocks].is_sorted_by(|a, b| a < b));
    }
    assert_eq!(cut(&Neighbourhood::default(), 0).0, 0);
}
