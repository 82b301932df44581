//! Planted patterns are there, in time order, and the background looks like payments.

use std::collections::{HashMap, HashSet};

use super::*;
use crate::synthetic::tests::events_of;

const NAME: &str = "synthetic:aml?accounts=2000&events=60k&patterns=40&seed=5";

#[test]
fn every_planted_payment_is_in_the_data_with_label_1_and_no_other_has_it() {
    let store = events_of(NAME);
    let planted = planted(NAME).unwrap();
    let labels = store.label().unwrap();
    let key = |src, dst, time: i64, amount: f32| (src, dst, time, amount.to_bits());
    let mut marked: HashMap<_, usize> = HashMap::new();
    for event in (0..store.len()).filter(|&event| labels[event] == 1.0) {
        let amount = store.weight().unwrap()[event];
        let key = key(store.src()[event], store.dst()[event], store.time()[event], amount);
        *marked.entry(key).or_default() += 1;
    }
    let count = planted.iter().map(|pattern| pattern.payments.len()).sum::<usize>();
    assert_eq!(marked.values().sum::<usize>(), count);
    assert_eq!(store.len(), 60_000 + count);
    for payment in planted.iter().flat_map(|pattern| &pattern.payments) {
        let key = key(payment.src, payment.dst, payment.time, payment.amount);
        assert!(marked.contains_key(&key), "{payment:?}");
    }
}

#[test]
fn planted_cycles_are_cycles_in_time_order() {
    let planted = planted(&format!("{NAME}&kind=cycle")).unwrap();
    assert_eq!(planted.len(), 40);
    for cycle in &planted {
        let payments = &cycle.payments;
        assert!((3..=8).contains(&payments.len()));
        for pair in payments.windows(2) {
            assert_eq!(pair[0].dst, pair[1].src, "money goes on from where it arrived");
            assert!(pair[0].time < pair[1].time, "and later");
        }
        assert_eq!(payments[payments.len() - 1].dst, payments[0].src, "and comes back");
        let accounts: HashSet<u32> = payments.iter().map(|payment| payment.src).collect();
        assert_eq!(accounts.len(), payments.len(), "through different accounts");
        assert!(payments[payments.len() - 1].amount < 1.01 * payments[0].amount);
        assert!(payments[payments.len() - 1].time - payments[0].time < 3 * 86_400);
    }
}

#[test]
fn every_pattern_has_the_shape_of_its_name() {
    for planted in planted(&NAME.replace("patterns=40", "patterns=80")).unwrap() {
        let payments = &planted.payments;
        let sources: HashSet<u32> = payments.iter().map(|payment| payment.src).collect();
        let sinks: HashSet<u32> = payments.iter().map(|payment| payment.dst).collect();
        let (from, to, both) = (sources.len(), sinks.len(), sources.intersection(&sinks).count());
        let hops = payments.len();
        match planted.pattern {
            Pattern::FanOut => assert_eq!((from, to, both), (1, hops, 0)),
            Pattern::FanIn => assert_eq!((from, to, both), (hops, 1, 0)),
            Pattern::Cycle => assert_eq!((from, to, both), (hops, hops, hops)),
            Pattern::ScatterGather => {
                assert_eq!((from - 1, to - 1, both), (hops / 2, hops / 2, hops / 2))
            }
            Pattern::GatherScatter => assert_eq!((from - 1, to - 1, both), (hops / 2, hops / 2, 1)),
            Pattern::Bipartite => assert_eq!((from * to, both), (hops, 0)),
            Pattern::Stack => assert_eq!((from, to, from / 2 * to), (2 * both, 2 * both, hops)),
            Pattern::Random => {
                assert!(from <= hops && payments.windows(2).all(|p| p[0].dst == p[1].src))
            }
        }
        assert!(payments.iter().all(|payment| payment.src != payment.dst));
    }
}

#[test]
fn what_is_gathered_arrives_before_it_is_passed_on() {
    for planted in planted(&NAME.replace("patterns=40", "patterns=80")).unwrap() {
        let middle = |time: fn(i64, i64) -> i64, arrives: bool| {
            let mut times: HashMap<u32, i64> = HashMap::new();
            for payment in &planted.payments {
                let account = if arrives { payment.dst } else { payment.src };
                let known = times.entry(account).or_insert(payment.time);
                *known = time(*known, payment.time);
            }
            times
        };
        if [Pattern::ScatterGather, Pattern::GatherScatter, Pattern::Stack]
            .contains(&planted.pattern)
        {
            let (arrived, left) = (middle(i64::max, true), middle(i64::min, false));
            let passed_on =
                arrived.iter().filter_map(|(account, &last)| Some((last, *left.get(account)?)));
            assert!(passed_on.into_iter().all(|(last, first)| last < first));
        }
    }
}

#[test]
fn the_background_repeats_partners_and_is_heavy_tailed() {
    let store = events_of("synthetic:aml?accounts=2000&events=60k&patterns=0");
    let mut counts = vec![0u32; 2000];
    store.src().iter().for_each(|&src| counts[src as usize] += 1);
    let most = counts.iter().max().copied().unwrap();
    assert!(most > 20 * 60_000 / 2000, "the busiest pays 20 times the mean: {most}");
    let pairs: HashSet<(u32, u32)> =
        store.src().iter().copied().zip(store.dst().iter().copied()).collect();
    assert!(pairs.len() * 2 < store.len(), "most payments repeat a pair: {}", pairs.len());
    assert!(store.src().iter().zip(store.dst()).all(|(src, dst)| src != dst));
    assert!(store.weight().unwrap().iter().all(|&amount| amount >= 0.01));
    let kinds = store.vertex_labels.as_ref().unwrap();
    let share = |kind: f32| kinds.iter().filter(|&&found| found == kind).count();
    // 2000 accounts: expected 1700, 240, 60; deviations 16, 15, 8.
    assert!(share(0.0).abs_diff(1700) < 80 && share(2.0).abs_diff(60) < 40);
}

#[test]
fn laundering_cannot_be_told_by_the_amount_alone() {
    let store = events_of(NAME);
    let labels = store.label().unwrap();
    let mut amounts: Vec<(f32, bool)> =
        store.weight().unwrap().iter().zip(labels).map(|(&a, &l)| (a, l == 1.0)).collect();
    amounts.sort_by(|a, b| b.0.total_cmp(&a.0));
    let bad = amounts.iter().filter(|(_, bad)| *bad).count();
    let caught = amounts[..bad].iter().filter(|(_, bad)| *bad).count();
    assert!(2 * caught < bad, "the largest amounts hold fewer than half: {caught} of {bad}");
}

#[test]
fn patterns_too_large_for_the_accounts_are_refused() {
    let text = planted("synthetic:aml?accounts=32&size=20").unwrap_err().to_string();
    assert!(text.contains("size = 20"), "{text}");
    let text = planted("synthetic:aml?size=500&span=0.01").unwrap_err().to_string();
    assert!(text.contains("span = 0.01"), "{text}");
    assert!(planted("synthetic:demo").is_err());
}
