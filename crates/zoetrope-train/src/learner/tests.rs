use zoetrope_config::{Config, MetricName};
use zoetrope_nn::Parameters;
use zoetrope_nn::initialise::Initialise;
use zoetrope_nn::parameters::Builder;
use zoetrope_run::checkpoint::Tensors;
use zoetrope_tensor::Device;

use super::Learner;

#[test]
fn a_gradient_whose_square_is_infinite_is_found_before_anything_changes() {
    for optimiser in ["adam", "adamw", "rmsprop"] {
        let config =
            Config::builder().set(&format!("train.optimiser={optimiser}")).build().unwrap();
        let mut parameters = Parameters::default();
        let weight = Builder::new(&mut parameters, 0).weight("weight", &[4], Initialise::Ones);
        let mut learner = Learner::new(&config, MetricName::Loss, &parameters, &Device::Cpu);
        learner.gradients.add(weight, &[0.5; 4], 1.0);
        learner.step(&config, &mut parameters, "frame").unwrap();
        let before = learner.save(&parameters, 0, Tensors::new());
        // Finite, as is its norm; its square is not.
        learner.gradients.clear();
        learner.gradients.add(weight, &[0.0, 1e25, 0.0, 0.0], 1.0);
        let error = learner.step(&config, &mut parameters, "frame").unwrap_err();
        assert!(error.to_string().contains("the norm of the gradients of frame"), "{error}");
        assert!(error.to_string().contains("after 1 updates"), "{error}");
        assert_eq!(learner.save(&parameters, 0, Tensors::new()), before, "{optimiser}");
        before.check_finite().unwrap();
    }
}
