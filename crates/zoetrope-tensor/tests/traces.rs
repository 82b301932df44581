//! Traces of a GPU: what the profiler tells, also from inside of recordings, and what happens if it
//! fails.
//!
//! A process has one profiler, so each test runs in a process of its own, with the emulated GPU.

use zoetrope_tensor::cuda::{CudaError, GpuSpan, Queue, Steps, TraceSource};
use zoetrope_tensor::{Activation, Device, Gpu, Tape};
use zoetrope_testkit::emulator;

/// How often the work is launched.
const TIMES: usize = 3;

/// What makes the emulated profiler fail.
const FAULT: &str = "ZOETROPE_EMULATED_CUPTI";

/// The emulated GPU; None if the test, of that name, has passed in another process.
fn gpu(test: &str, settings: &[(&str, &str)]) -> Option<Gpu> {
    emulator::is_here(test, settings).then(|| Gpu::open(0).unwrap())
}

/// A product and an activation.
fn work(tape: &mut Tape) -> Result<(), CudaError> {
    tape.reset();
    let x = tape.zeros(200, 200);
    let y = tape.matmul(x, x).unwrap();
    tape.activate(y, Activation::Tanh);
    Ok(())
}

fn count(spans: &[GpuSpan], name: &str) -> usize {
    spans.iter().filter(|span| span.name == name).count()
}

/// The work as it runs by itself, and inside of a recording.
fn launch(gpu: &Gpu) {
    let mut tape = Tape::on(Device::Cuda(gpu.clone()));
    work(&mut tape).unwrap();
    let step = Steps::new(gpu, 1).counter().clone();
    let recording = gpu.record(step, || work(&mut tape)).unwrap();
    recording.finish();
    (2..TIMES).for_each(|_| recording.launch(|_| Ok::<_, CudaError>(())).unwrap());
}

#[test]
fn the_profiler_sees_every_kernel_inside_of_recordings_too() {
    let Some(gpu) = gpu("the_profiler_sees_every_kernel_inside_of_recordings_too", &[]) else {
        return;
    };
    assert_eq!(gpu.trace_source(), None);
    assert_eq!(gpu.take_trace(), Ok(Vec::new()));
    // The zeros that are multiplied are made once.
    work(&mut Tape::on(Device::Cuda(gpu.clone()))).unwrap();
    let start = gpu.start_trace();
    assert_eq!((start.fallback, gpu.trace_source()), (None, Some(TraceSource::Cupti)));
    launch(&gpu);
    let spans = gpu.take_trace().unwrap();
    let whole = start.zero.elapsed().as_secs_f64();
    for name in ["cublasLt::emulated_product", "activation_forward"] {
        assert_eq!(count(&spans, name), TIMES, "{name} in {spans:?}");
    }
    // The counter of steps and what lies beside it.
    assert_eq!((count(&spans, "copy up"), count(&spans, "zero")), (2, 1), "{spans:?}");
    assert_eq!(spans.len(), 2 * TIMES + 3);
    for span in &spans {
        assert_eq!(span.queue, Queue::Compute);
        assert!(span.seconds > 0.0 && span.start + span.seconds <= whole, "{span:?} of {whole}");
        // The clock of the records is not that of the trace: as near as the host can read both.
        assert!(span.start >= -1e-3, "{span:?}");
    }
    assert!(spans.is_sorted_by(|a, b| a.start + a.seconds <= b.start + 1e-9), "{spans:?}");
    assert_eq!(gpu.take_trace(), Ok(Vec::new()));
    // A second GPU of the process cannot have the profiler as well.
    let other = Gpu::open(0).unwrap();
    let events = other.start_trace();
    assert!(events.fallback.is_some());
    assert_eq!(other.trace_source(), Some(TraceSource::Events));
    // It can when the first trace has ended.
    drop(start.end);
    assert_eq!(gpu.trace_source(), None);
    assert_eq!(other.start_trace().fallback, None);
}

#[test]
fn a_profiler_that_refuses_is_replaced_by_events() {
    let test = "a_profiler_that_refuses_is_replaced_by_events";
    let Some(gpu) = gpu(test, &[(FAULT, "refuse")]) else { return };
    let start = gpu.start_trace();
    assert_eq!(gpu.trace_source(), Some(TraceSource::Events));
    let reason = start.fallback.as_ref().unwrap().to_string();
    assert!(reason.contains("CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"), "{reason}");
    assert_events(&gpu);
}

#[test]
fn a_profiler_that_breaks_is_replaced_by_events() {
    let test = "a_profiler_that_breaks_is_replaced_by_events";
    let Some(gpu) = gpu(test, &[(FAULT, "break")]) else { return };
    let start = gpu.start_trace();
    assert_eq!(start.fallback, None);
    launch(&gpu);
    let reason = gpu.take_trace().unwrap_err().to_string();
    assert!(reason.contains("CUPTI_ERROR_UNKNOWN"), "{reason}");
    assert_eq!(gpu.trace_source(), Some(TraceSource::Events));
    assert_events(&gpu);
}

/// Events show what is launched one by one.
fn assert_events(gpu: &Gpu) {
    let mut tape = Tape::on(Device::Cuda(gpu.clone()));
    (0..TIMES).for_each(|_| work(&mut tape).unwrap());
    let spans = gpu.take_trace().unwrap();
    for name in ["cublasLt", "activation_forward"] {
        assert_eq!(count(&spans, name), TIMES, "{name} in {spans:?}");
    }
    assert_eq!(gpu.fault(), None);
}
