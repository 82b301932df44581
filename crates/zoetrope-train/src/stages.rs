//! What a run takes memory for, in the order of a run: said when memory runs out.

use zoetrope_heap::Purpose;

/// From files to columns.
pub(crate) static READING: Purpose = Purpose {
    doing: "reading the data",
    advice: "read fewer columns or rows, or turn the file into a store first \
             (`zoetrope data convert FILE data.zoe`)",
};

/// From columns to snapshots with features, or to events with an index.
pub(crate) static SHAPING: Purpose = Purpose {
    doing: "laying out the data (snapshots or an index of events, features)",
    advice: "choose a wider data.window, fewer events or fewer features",
};

/// Networks, states and matrices of a run.
pub(crate) static PLANNING: Purpose =
    Purpose { doing: "setting up the model and the plan", advice: "choose a smaller model.hidden" };

/// Epochs of snapshot models.
pub(crate) static TRAINING: Purpose = Purpose {
    doing: "training",
    advice: "choose a smaller train.batch_size, train.frame or model.hidden, or more plan.blocks",
};

/// Epochs of event models.
pub(crate) static TRAINING_EVENTS: Purpose = Purpose {
    doing: "training",
    advice: "choose a smaller train.batch_size, model.neighbours or model.hidden",
};

/// Validation and test of snapshot models.
pub(crate) static JUDGING: Purpose = Purpose {
    doing: "measuring on the validation or test part",
    advice: "choose more plan.blocks, a shorter train.frame, or fewer task.candidates or task.negatives",
};

/// Validation and test of event models.
pub(crate) static JUDGING_EVENTS: Purpose = Purpose {
    doing: "measuring on the validation or test part",
    advice: "choose fewer task.candidates or task.negatives, or a smaller train.batch_size, \
             model.neighbours or model.hidden",
};

/// Simple rules beside the model.
pub(crate) static COMPARING: Purpose = Purpose {
    doing: "measuring the simple rules that the model is compared with",
    advice: "choose fewer task.candidates or task.negatives",
};

/// Checkpoints.
pub(crate) static SAVING: Purpose = Purpose {
    doing: "saving a checkpoint",
    advice: "choose a smaller model.hidden or train.batch_size",
};
