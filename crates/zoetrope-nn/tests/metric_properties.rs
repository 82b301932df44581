//! What holds for measures whatever is measured.

use proptest::prelude::*;
use zoetrope_nn::metrics::{
    BinaryScores, Classification, PositiveThresholds, Ranking, Regression, RowRanking, TieRule,
};

/// Few distinct scores, so that ties are common.
fn score() -> impl Strategy<Value = f32> {
    (-6i32..=6).prop_map(|value| value as f32 / 4.0)
}

fn scored() -> impl Strategy<Value = Vec<(f32, f32)>> {
    prop::collection::vec(
        (score(), prop::bool::ANY.prop_map(|label| f32::from(u8::from(label)))),
        0..60,
    )
}

fn binary(pairs: &[(f32, f32)]) -> BinaryScores {
    let (scores, labels): (Vec<f32>, Vec<f32>) = pairs.iter().copied().unzip();
    let mut binary = BinaryScores::default();
    binary.add(&scores, &labels);
    binary
}

proptest! {
    #[test]
    fn average_precision_and_area_are_fractions_and_do_not_know_the_order(
        (pairs, shuffled) in scored().prop_flat_map(|pairs| {
            (Just(pairs.clone()), Just(pairs).prop_shuffle())
        }),
    ) {
        let (ordered, shuffled) = (binary(&pairs).report(), binary(&shuffled).report());
        prop_assert_eq!(ordered, shuffled);
        for value in ordered.into_iter().filter_map(|(_, value)| value.ok()) {
            prop_assert!((0.0..=1.0).contains(&value));
        }
    }

    #[test]
    fn counting_negatives_gives_what_keeping_them_gives(pairs in scored(), cut in 0usize..60) {
        let side = |wanted: f32| -> Vec<f32> {
            pairs.iter().filter(|(_, label)| *label == wanted).map(|&(score, _)| score).collect()
        };
        let negatives = side(0.0);
        let (first, second) = negatives.split_at(cut.min(negatives.len()));
        let mut counted = PositiveThresholds::default();
        counted.begin(&side(1.0));
        counted.add_negatives(first);
        counted.add_negatives(second);
        prop_assert_eq!(counted.report(), binary(&pairs).report());
        let (scores, labels): (Vec<f32>, Vec<f32>) = pairs.iter().copied().unzip();
        let mut among = PositiveThresholds::default();
        among.begin(&side(1.0));
        among.add_negatives_among(&scores, &labels);
        prop_assert_eq!(among.report(), counted.report());
    }

    #[test]
    fn turning_the_scores_around_turns_the_area_around(pairs in scored()) {
        let turned: Vec<_> = pairs.iter().map(|&(score, label)| (-score, label)).collect();
        if let (Ok(area), Ok(turned)) = (binary(&pairs).auc(), binary(&turned).auc()) {
            prop_assert!((area + turned - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn chunks_do_not_change_a_bit_of_an_error(
        pairs in prop::collection::vec((-1e3f32..1e3, -1e3f32..1e3), 1..80),
        chunk in 1usize..20,
    ) {
        let (predicted, truth): (Vec<f32>, Vec<f32>) = pairs.into_iter().unzip();
        let (mut whole, mut parts) = (Regression::default(), Regression::default());
        whole.add(&predicted, &truth);
        for (predicted, truth) in predicted.chunks(chunk).zip(truth.chunks(chunk)) {
            parts.add(predicted, truth);
        }
        prop_assert_eq!(&whole, &parts);
        let (mae, rmse) = (whole.mae().unwrap(), whole.rmse().unwrap());
        prop_assert!(0.0 <= mae && mae <= rmse * (1.0 + 1e-12));
    }

    #[test]
    fn f1_and_accuracy_are_fractions_and_do_not_know_the_order(
        (pairs, shuffled) in prop::collection::vec((0u32..4, 0u32..4), 0..50)
            .prop_flat_map(|pairs| (Just(pairs.clone()), Just(pairs).prop_shuffle())),
    ) {
        let counts = |pairs: &[(u32, u32)]| {
            let (predicted, truth): (Vec<u32>, Vec<u32>) = pairs.iter().copied().unzip();
            let mut counts = Classification::new(4);
            counts.add(&predicted, &truth);
            counts
        };
        prop_assert_eq!(counts(&pairs), counts(&shuffled));
        for value in counts(&pairs).report().into_iter().filter_map(|(_, value)| value.ok()) {
            prop_assert!((0.0..=1.0).contains(&value));
        }
        let mut halves = counts(&pairs[..pairs.len() / 2]);
        halves.merge(&counts(&pairs[pairs.len() / 2..]));
        prop_assert_eq!(halves, counts(&pairs));
    }

    #[test]
    fn an_average_rank_lies_between_the_other_two(
        positive in score(),
        negatives in prop::collection::vec(score(), 1..40),
    ) {
        let mrr = |ties| {
            let mut ranks = Ranking::new(ties, &[]);
            ranks.add(positive, &negatives);
            ranks.mrr().unwrap()
        };
        let [low, middle, high] =
            [TieRule::Pessimistic, TieRule::Average, TieRule::Optimistic].map(mrr);
        prop_assert!(0.0 < low && low <= middle && middle <= high && high <= 1.0);
    }

    #[test]
    fn a_row_with_one_positive_is_ranked_as_that_positive_alone(
        positive in score(),
        negatives in prop::collection::vec(score(), 1..40),
    ) {
        for ties in [TieRule::Pessimistic, TieRule::Average, TieRule::Optimistic] {
            let mut ranks = Ranking::new(ties, &[]);
            ranks.add(positive, &negatives);
            let scores: Vec<f32> = [positive].into_iter().chain(negatives.clone()).collect();
            let mut labels = vec![0.0; scores.len()];
            labels[0] = 1.0;
            let mut rows = RowRanking::new(ties);
            rows.add(&scores, &labels);
            prop_assert_eq!(rows.mrr(), ranks.mrr());
        }
    }

    #[test]
    fn ranking_a_row_ranks_each_of_its_positives_against_its_negatives(pairs in scored()) {
        let (scores, labels): (Vec<f32>, Vec<f32>) = pairs.iter().copied().unzip();
        let side = |wanted: f32| -> Vec<f32> {
            pairs.iter().filter(|(_, label)| *label == wanted).map(|&(score, _)| score).collect()
        };
        let (mut row, mut single) =
            (Ranking::new(TieRule::Average, &[2]), Ranking::new(TieRule::Average, &[2]));
        row.add_candidates(&scores, &labels);
        side(1.0).iter().for_each(|&positive| single.add(positive, &side(0.0)));
        prop_assert_eq!(row.report(), single.report());
        prop_assert_eq!(row.without_negatives(), single.without_negatives());
    }
}
