//! Every operator on a card against the processor.
//!
//! Runs where CUDA is found: a real card, or the emulator of the test kit
//! (`ZOETROPE_CUDA_PATH`, see `crates/zoetrope-testkit/emulator`), which `cargo xtask ci` sets up.
//! Set `ZOETROPE_CASES=TEXT` to run the cases whose names contain the text.

use zoetrope_tensor::conformance::{all_cases, compare};
use zoetrope_tensor::cuda::PATH_VARIABLE;
use zoetrope_tensor::{Device, Gpu};

#[test]
fn a_card_gives_what_the_processor_gives() {
    let gpu = match Gpu::open(0) {
        Ok(gpu) => gpu,
        // Without a card nothing can be compared; where CUDA was promised that is a failure.
        Err(error) if std::env::var_os(PATH_VARIABLE).is_none() => {
            eprintln!("not compared: {error}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let device = Device::Cuda(gpu.clone());
    let wanted = std::env::var("ZOETROPE_CASES").unwrap_or_default();
    let mut wrong = Vec::new();
    for case in all_cases().iter().filter(|case| case.name.contains(&wanted)) {
        let found =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| compare(case, &device)));
        match found {
            Ok(found) if found.agrees() => {}
            Ok(found) => {
                wrong.push(format!(
                    "{}: {} differs by {}",
                    found.name, found.matrix, found.difference
                ));
            }
            Err(_) => wrong.push(format!("{}: panicked", case.name)),
        }
    }
    assert!(gpu.fault().is_none(), "{}", gpu.fault().expect("a fault"));
    assert!(wrong.is_empty(), "{} cases differ:\n{}", wrong.len(), wrong.join("\n"));
}
