//! Every operator on a GPU against the processor.
//!
//! On a real GPU if there is one, otherwise on the emulated one of the test kit.
//! Set `ZOETROPE_CASES=TEXT` to run the cases whose names contain the text.

mod gpu;

use zoetrope_tensor::Device;
use zoetrope_tensor::conformance::{all_cases, compare};

#[test]
fn a_gpu_gives_what_the_processor_gives() {
    let Some(gpu) = gpu::open("a_gpu_gives_what_the_processor_gives") else { return };
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
