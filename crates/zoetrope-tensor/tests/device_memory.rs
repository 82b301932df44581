//! The limit on a GPU's memory: what is over it is a fault that names who wanted more and who has most.
//!
//! On a real GPU if there is one, otherwise on the emulated one of the test kit.

mod gpu;

use std::sync::Arc;

use zoetrope_tensor::cuda::Consumer;
use zoetrope_tensor::{CudaError, Device, Matrix, Tape};

#[test]
fn memory_beyond_the_limit_is_a_fault_that_names_the_consumers() {
    let test = "memory_beyond_the_limit_is_a_fault_that_names_the_consumers";
    let Some(gpu) = gpu::open(test) else { return };
    let limit = 4 << 20;
    gpu.limit_memory(limit);
    let features = Arc::new(Matrix::zeros(640, 1024));
    let mut tape = Tape::on(Device::Cuda(gpu.clone()));
    tape.constant(&features, 0..640).unwrap();
    assert_eq!(gpu.fault(), None);
    // 2.5 MiB are there; 2 more do not fit.
    let more = tape.copied(512, 1024, &vec![1.0; 512 * 1024]).unwrap();
    let Some(CudaError::OutOfMemory {
        wanted, consumer, largest, largest_bytes, limit: told, ..
    }) = gpu.fault()
    else {
        panic!("{:?}", gpu.fault());
    };
    assert_eq!((consumer, largest, told), (Consumer::Activations, Consumer::Features, limit));
    assert!(wanted >= 2 << 20 && largest_bytes >= 640 * 1024 * 4, "{wanted} {largest_bytes}");
    let said = gpu.fault().unwrap().to_string();
    assert!(said.contains("for activations") && said.contains("most of it is features"), "{said}");
    // It was met from the host, so that nothing that is under way breaks.
    assert_eq!(tape.read(more)[7], 1.0);
    assert!(gpu.memory_use().reserved <= limit, "{:?}", gpu.memory_use());
}

#[test]
fn copies_of_what_is_gone_make_room_before_the_limit_is_a_fault() {
    let test = "copies_of_what_is_gone_make_room_before_the_limit_is_a_fault";
    let Some(gpu) = gpu::open(test) else { return };
    gpu.limit_memory(4 << 20);
    for _ in 0..3 {
        let features = Arc::new(Matrix::zeros(512, 1024));
        let mut tape = Tape::on(Device::Cuda(gpu.clone()));
        tape.constant(&features, 0..512).unwrap();
    }
    assert_eq!(gpu.fault(), None);
}
