use crate::cuda::test_support::gpu;
use crate::{Device, Tape};

#[test]
fn running_statistics_move_towards_those_of_the_batch() {
    let Some(gpu) = gpu() else { return };
    let (rows, cols) = (700, 3);
    let x: Vec<f32> = (0..rows * cols).map(|at| 50.0 + (at * 29 % 97) as f32 / 8.0).collect();
    let mut tape = Tape::on(Device::Cuda(gpu.clone()));
    let x_var = tape.copied(rows, cols, &x).expect("the length fits");
    let (scale, shift) = (tape.ones(1, cols), tape.zeros(1, cols));
    let normalised = tape.batch_norm(x_var, scale, shift, 1e-5).expect("the shapes fit");
    let mut running = [vec![2.0f32; cols], vec![3.0; cols], vec![4.0]].map(|v| gpu.uploaded(&v));
    let views = running.each_mut().map(|kept| kept.view_mut());
    tape.update_running_statistics(normalised, views, 1e-5, 0.1);
    let [mean, variance, count] = running.each_ref().map(|kept| {
        let mut values = vec![0.0; kept.len()];
        gpu.download(kept.view(), &mut values);
        values
    });
    assert_eq!(count, [5.0]);
    for column in 0..cols {
        let own = || x.iter().skip(column).step_by(cols).map(|&x| f64::from(x));
        let centre = own().sum::<f64>() / rows as f64;
        let unbiased = own().map(|x| (x - centre).powi(2)).sum::<f64>() / (rows - 1) as f64;
        let expected = [0.9 * 2.0 + 0.1 * centre, 0.9 * 3.0 + 0.1 * unbiased];
        for (got, expected) in [mean[column], variance[column]].into_iter().zip(expected) {
            assert!((f64::from(got) - expected).abs() < 1e-5 * expected, "{got} {expected}");
        }
    }
}
