//! A GPU ranks links as the processor does, draw for draw.

mod hub_links;

use hub_links::links;
use zoetrope_graph::LinkSet;
use zoetrope_graph::random::{Draws, Random};
use zoetrope_tensor::cuda::PATH_VARIABLE;
use zoetrope_tensor::{Device, Gpu, LinkRank, LinkRanking, PairLayers, Tape};

/// Whole numbers, so that sums are exact in any order and many scores are equal.
fn whole(seed: u64, rows: usize, cols: usize) -> Vec<f32> {
    let random = Random::new(seed, 0);
    (0..(rows * cols) as u64).map(|at| random.below(at, 7) as f32 - 3.0).collect()
}

fn ranks(
    tape: &mut Tape,
    links: &LinkSet,
    width: usize,
    ranking: LinkRanking<'_>,
) -> Vec<LinkRank> {
    let rows = links.vertices() as usize;
    let layers = PairLayers {
        source: tape.copied(rows, width, &whole(1, rows, width)).unwrap(),
        destination: tape.copied(rows, width, &whole(2, rows, width)).unwrap(),
        weight: tape.copied(1, width, &whole(3, 1, width)).unwrap(),
        bias: tape.copied(1, 1, &[0.5]).unwrap(),
    };
    tape.link_ranks(layers, ranking).unwrap()
}

#[test]
fn a_gpu_ranks_links_as_the_processor_does() {
    let gpu = match Gpu::open(0) {
        Ok(gpu) => gpu,
        // Without a GPU nothing can be compared; if CUDA was promised that is a failure.
        Err(error) if std::env::var_os(PATH_VARIABLE).is_none() => {
            eprintln!("not compared: {error}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    // Among many of few vertices most draws are replaced, among few of many hardly any; widths that are
    // read by fours, and others.
    for (vertices, width, negatives) in
        [(12, 3, 2), (60, 17, 100), (60, 16, 45), (60, 16, 50), (300, 32, 7), (300, 5, 280)]
    {
        let links = links(vertices);
        let draws = Draws::new(Random::new(0x1_2345_6789, 0x0A83).at_step(4), 1 << 33);
        let ranking = LinkRanking { links: &links, negatives, draws };
        let expected = ranks(&mut Tape::new(), &links, width, ranking);
        let found = ranks(&mut Tape::on(Device::Cuda(gpu.clone())), &links, width, ranking);
        assert!(expected.contains(&LinkRank::ALONE) && expected.iter().any(|rank| rank.equal > 0));
        assert_eq!(found, expected, "{vertices} vertices, width {width}, {negatives} each");
    }
    assert!(gpu.fault().is_none(), "{:?}", gpu.fault());
}
