//! Matrices of a GPU that wait on the host.

mod gpu;

use zoetrope_tensor::cuda::Stored;
use zoetrope_tensor::{Device, Kept, Matrix, Tape};

#[test]
fn matrices_that_take_turns_on_a_gpu_come_back_from_the_host_as_they_were_stored() {
    let test = "matrices_that_take_turns_on_a_gpu_come_back_from_the_host_as_they_were_stored";
    let Some(gpu) = gpu::open(test) else { return };
    let mut tape = Tape::on(Device::Cuda(gpu.clone()));
    let (mut here, mut stored): (Option<Kept>, [Option<Stored>; 2]) = Default::default();
    let mut wanted = Vec::new();
    // Both take the same place on the GPU, one after the other; the second one is larger.
    for (number, place) in stored.iter_mut().enumerate() {
        let rows = 5 + number;
        let values: Vec<f32> = (0..rows * 3).map(|at| (100 * number + at) as f32).collect();
        let var = tape.copied(rows, 3, &values).unwrap();
        tape.keep(var, &mut here);
        let here = here.as_ref().unwrap();
        Stored::store(&gpu, here, here.shape(), place);
        place.as_ref().unwrap().settle();
        wanted.push(Matrix::from_slice(rows, 3, &values).unwrap());
    }
    let (sent, used) = (gpu.streamed_bytes(), gpu.memory_use().used);
    for (stored, wanted) in stored.iter_mut().zip(&wanted) {
        let stored = stored.as_mut().unwrap();
        stored.fetch(&mut here);
        stored.settle();
        assert_eq!(here.as_ref().unwrap().to_matrix(), *wanted);
    }
    assert_eq!(gpu.streamed_bytes() - sent, (5 + 6) * 3 * 4);
    assert_eq!(gpu.memory_use().used, used, "the place on the GPU is used again");
}
