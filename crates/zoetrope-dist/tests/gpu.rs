//! Exchanges on tapes of a GPU: the rows go by way of the host.

mod bodies;

use zoetrope_dist::{DistError, Exchange, ExchangePlan, Timeouts, threads};
use zoetrope_tensor::{Device, Gpu, Tape};
use zoetrope_testkit::emulator;

#[test]
fn rows_on_a_gpu_are_exchanged_as_on_the_processor() {
    if let Err(error) = Gpu::open(0) {
        assert!(!emulator::is_pointed(), "{error}");
        return emulator::rerun("rows_on_a_gpu_are_exchanged_as_on_the_processor");
    }
    threads::run(2, Timeouts::default(), |ranks| {
        // Each rank has its own handle, as processes on one GPU have.
        let device = Device::Cuda(Gpu::open(0).unwrap());
        let (rows, cols) = (10, 3);
        let plan = ExchangePlan::between(ranks.rank(), 2, 2 * rows, |at| at / rows, |at| at % 2);
        let exchange = Exchange::new(&ranks, plan.unwrap());
        let [x, weights] = [1, 2].map(|seed| bodies::values(seed, ranks.rank(), rows * cols));
        for overlapped in [false, true] {
            let expected = bodies::there_and_back(&exchange, &x, cols, &weights, overlapped);
            let mut tape = Tape::on(device.clone());
            let input = tape.variable(rows, cols, &x).unwrap();
            let output = if overlapped {
                let pending = exchange.start(&mut tape, input).unwrap();
                pending.arrive(&mut tape)
            } else {
                exchange.apply(&mut tape, input).unwrap()
            };
            assert_eq!(tape.read(output), expected.0);
            tape.backward_from(output, &weights).unwrap();
            let gradient = tape.gradient_block(input).unwrap().to_vec();
            assert_eq!(gradient, expected.1);
        }
        ranks.check()?;
        Ok::<_, DistError>(())
    })
    .unwrap();
}
